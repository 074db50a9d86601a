/** The shapes of what the modules pass to each other. Browsers never load this file. */

import type { LinearModel } from "./models/linear.js";
import type { ANSWER, CHECKOUT, ENROLLED, TASK } from "./transport.js";
import type { Waiting } from "./waiting.js";

// Randomness

/** How much noise: P(z) ∝ exp(−ε|z|/sensitivity). */
export interface Level {
  readonly sensitivity: number;
  readonly epsilon: number;
}

/** Draws an integer 0 … n−1, all equally likely. */
export interface Draw {
  below(n: number): number;
}

/** All that is random in a device. */
export interface Chance extends Draw {
  /** 128 random bits as 22 characters. */
  token(): string;
  /** Adds independent discrete Laplace noise of a level to integers. */
  addLaplace(values: readonly number[], level: Level): number[];
}

// Models

/** What a model is told by the `model` section of the terms. */
export interface ModelSpec {
  readonly intercept: boolean;
  /** A real target is missed when the prediction is off by more than this. */
  readonly tolerance: number;
  /** δ of the Huber loss. */
  readonly delta: number;
}

export interface ModelKind {
  /** Whether the target is one of C labels, and not a real number. */
  readonly classifier: boolean;
  make(spec: ModelSpec, nFeatures: number, nClasses: number): LinearModel;
}

// Releases and the ledger

/** Which samples of the minibatch a released value was computed from. */
export type Part = "training" | "heldout" | "all";

/** Integers that left the device with noise. */
export interface LaplaceRelease extends Level {
  readonly what: "gradient" | "errors" | "labels";
  /** Which samples were looked at. */
  readonly part: Part;
  /** The largest change in L1, in steps, when one sample is replaced. */
  readonly sensitivity: number;
  /** ε of this release for each sample looked at. */
  readonly epsilon: number;
}

/** Everything that one check-in told the server. */
export interface CheckinRelease {
  /** Samples behind the gradient. */
  readonly nTraining: number;
  /** Samples set aside for the error count. */
  readonly nHeldout: number;
  readonly releases: readonly LaplaceRelease[];
}

/** How much ε the participant allows. */
export interface Limits {
  /** For any single sample. */
  readonly perSample: number;
  /** For the device, summed over its check-ins. */
  readonly perDevice: number;
}

// Routines 2 and 3

/** One row of numbers per sample. */
export type Rows = readonly Float64Array[];

/** The privacy level of each thing that is sent; Infinity for no noise, labels 0 for none sent. */
export interface Epsilon {
  readonly gradient: number;
  readonly errors: number;
  readonly labels: number;
}

export interface SanitizerSettings {
  epsilon: Epsilon;
  /** S, the bound on every per-sample gradient. */
  clip: number;
  /** d, the number of parameters. */
  size: number;
  /** λ. */
  regularization: number;
  /** R, the bound on ‖w‖₂. */
  radius: number;
}

/** What Routine 2 computed from a minibatch. It is secret: it never leaves the device. */
export interface Summary {
  /** The average of the clipped per-sample gradients. */
  g: Float64Array;
  /** n_e. */
  nErrors: number;
  /** n_y^k for each class; empty for a real target. */
  nLabels: readonly number[];
  /** The samples averaged in g. */
  nTraining: number;
  /** The samples set aside for n_e; 0 if n_e was counted on all. */
  nHeldout: number;
}

/** What may leave the device: integers with exact noise. */
export interface Sanitized {
  gradient: readonly number[];
  grid: number;
  nErrors: number;
  nLabels: readonly number[];
}

/** A sanitised check-in that waits to be sent, with the exact bytes of its body. */
export interface Letter {
  readonly id: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A letter, what it tells, and the truth behind it, which stays on the device. */
export interface Written {
  letter: Letter;
  event: CheckinRelease;
  truth: Summary;
}

// Memory

/** Who the device is, where it takes part and what it agreed to. */
export interface Identity {
  url: string;
  task: string;
  device: string;
  token: string;
  terms: string;
  limits: Limits;
  ended: string | null;
}

/** One check-in as the participant may see it. */
export interface Sent {
  id: string;
  /** When it was written, in milliseconds since 1970. */
  time: number;
  event: CheckinRelease;
  /** What was sent, byte for byte. */
  body: Uint8Array<ArrayBuffer>;
  /** What the noise hides. It never leaves the device. */
  truth: Summary;
  /** `waiting`, `applied`, `duplicate` or `refused: KIND`. */
  answer: string;
}

// Network

export type TaskView = ReturnType<typeof TASK>;
export type Enrolled = ReturnType<typeof ENROLLED>;
export type Checkout = ReturnType<typeof CHECKOUT>;
export type CheckinAnswer = ReturnType<typeof ANSWER>;

export interface Enrol {
  terms: string;
  invite?: string;
}

/** The parameters, and the hash of the terms on which the server now takes check-ins. */
export interface CheckedOut {
  checkout: Checkout;
  termsSha256: string;
}

/**
 * What a device needs from a server. Each call returns the answer, throws `Rejected` when the
 * server said no, or `Unreachable` when it may be tried again. `checkin` takes bytes, so that a
 * retry sends the same bytes.
 */
export interface Transport {
  task(): Promise<TaskView>;
  enrol(message: Enrol): Promise<Enrolled>;
  checkout(token: string): Promise<CheckedOut>;
  checkin(token: string, body: Uint8Array<ArrayBuffer>): Promise<CheckinAnswer>;
  leave(token: string): Promise<void>;
  close(): void;
}

export interface TransportOptions {
  /** Allow plain HTTP beyond loopback. */
  insecureHttp?: boolean;
  /** Seconds to wait for the server. */
  timeout?: number;
}

// The device

/** What a participant may say when joining. */
export interface Wishes {
  /** An invite code, where the task asks for one. */
  invite?: string;
  /** Refuse to join unless the terms have this hash. */
  termsSha256?: string;
  /** By default one check-in's cost, and twenty check-ins. */
  limits?: Limits;
  /** Join even a task that adds no noise. */
  acceptNoPrivacy?: boolean;
}

export interface Options extends TransportOptions {
  /** The server's root; by default where this page came from. */
  url?: string;
  /** The way to the server; by default fetch. */
  transport?: Transport;
  /** All that is random; by default from the browser's generator. */
  chance?: Chance;
  /** When to try again; by default soon, and after each failure later. */
  waiting?: Waiting;
}

/** In seconds. */
export interface WaitingSettings {
  base: number;
  longest: number;
  jitter: number;
  clock(): number;
  chance: Draw;
}

/** A sample as it was taken. */
export interface Taken {
  /** In seconds. */
  time: number;
  window: number[];
  x: Float64Array<ArrayBuffer>;
  y: number;
}

/** Returns the value if it keeps the rule; otherwise throws with the rule and the value found. */
export type Rule<T> = (value: unknown, path: string) => T;

export type Fields<F extends Record<string, Rule<any>>> = {
  readonly [K in keyof F]: ReturnType<F[K]>;
};
