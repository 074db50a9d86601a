/** What a model is made from, and what it is given. */

import type { LinearModel } from "../models/linear.js";

/** L1 or L2. */
export type Norm = 1 | 2;

/** One row of numbers per sample. */
export type Rows = readonly Float64Array[];

/** What the `model` section of the terms says to a model. */
export interface ModelSettings {
  readonly intercept: boolean;
  /** A real target is missed when the prediction is off by more than this. */
  readonly tolerance: number;
  /** δ of the Huber loss. */
  readonly delta: number;
}

export interface ModelKind {
  /** Whether the target is one of C labels, and not a real number. */
  readonly classifier: boolean;
  make(spec: ModelSettings, nFeatures: number, nClasses: number): LinearModel;
}

/** What every mechanism knows about the model. */
export interface ModelConstants {
  /** d, the number of parameters. */
  size: number;
  /** C; 0 for a real target. */
  nClasses: number;
  /** λ. */
  regularization: number;
}

/** Averages gradients, each first shrunk to the length `clip`; Infinity for none. */
export type MeanGradient = (
  w: Float64Array,
  x: Rows,
  y: readonly number[],
  clip: number,
  norm: Norm,
) => Float64Array<ArrayBuffer>;
