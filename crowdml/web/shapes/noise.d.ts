/** The mechanisms that add noise. */

import type { Chance, NoiseAmount } from "./chance.js";
import type { CheckinEvent } from "./mechanism.js";
import type { ModelConstants, Norm } from "./model.js";

/** Which samples of the minibatch a released value was computed from. */
export type Part = "training" | "heldout" | "all";

/** Integers that left the device with noise, at a level for each sample looked at. */
export interface Release extends NoiseAmount {
  readonly what: "gradient" | "errors" | "labels";
  readonly part: Part;
}

/** Integers with noise. */
export type Hidden = Record<Release["what"], readonly number[]>;

/** Everything that one check-in with noise sent to the server. */
export interface NoiseEvent extends CheckinEvent {
  /** Samples behind the gradient. */
  readonly nTraining: number;
  /** Samples set aside for the error count. */
  readonly nHeldout: number;
  readonly releases: readonly Release[];
  /** δ for Gaussian noise; 0 for Laplace noise, whose levels are pure ε. */
  readonly delta: number;
}

/** A law of integer noise. */
export interface Law {
  readonly norm: Norm;
  /** How far rounding can move `n` numbers, in steps and in this norm. */
  rounding(size: number): number;
  /** How far two counts move together that move by one each. */
  readonly twoBins: number;
  /** Sensitivity over scale. */
  strength(level: number): number;
  add(values: readonly number[], release: Release, chance: Chance): number[];
}

/** ε, or ρ, of each thing that is sent; Infinity for no noise, labels 0 for none sent. */
export interface NoiseLevels {
  readonly gradient: number;
  readonly errors: number;
  readonly labels: number;
}

export interface NoiseSettings extends ModelConstants {
  law: Law;
  levels: NoiseLevels;
  /** S, the bound on every per-sample gradient in the law's norm. */
  clip: number;
  /** The share of samples set aside for counting errors. */
  heldout: number;
  /** R, the bound on ‖w‖₂. */
  radius: number;
  /** δ, for Gaussian noise. */
  delta: number;
}

/** ĝ, n_s, n̂_e and n̂_y on the wire: integers with exact noise. */
export interface NoisePayload {
  samples: number;
  heldout: number;
  errors: number;
  labels: readonly number[];
  grid: number;
  gradient: string;
}

/** What noise hides. */
export interface NoiseTruth {
  /** The average of the clipped per-sample gradients. */
  g: Float64Array;
  /** n_e. */
  nErrors: number;
  /** n_y^k for each class; empty for a real target. */
  nLabels: readonly number[];
}
