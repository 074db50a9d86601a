/** The shapes of what the modules pass to each other. Browsers never load this file. */

import type { Loss } from "./loss.js";
import type { MECHANISMS } from "./mechanisms/index.js";
import type { Minibatch } from "./minibatch.js";
import type { LinearModel } from "./models/linear.js";
import type { Terms } from "./terms.js";
import type { ANSWER, CHECKOUT, ENROLLED, TASK } from "./transport.js";
import type { Waiting } from "./waiting.js";

// Randomness

/** How much noise. */
export interface Amount {
  /** The largest change, in integer steps and in the norm of the law, when one sample is replaced. */
  readonly sensitivity: number;
  /** ε of Laplace noise, ρ of Gaussian noise. */
  readonly level: number;
}

/** Draws an integer 0 … n−1, all equally likely. */
export interface Draw {
  below(n: number): number;
}

/** All that is random in a device. */
export interface Chance extends Draw {
  /** 128 random bits as 22 characters. */
  token(): string;
  /** Adds independent discrete Laplace noise to integers. */
  addLaplace(values: readonly number[], amount: Amount): number[];
  /** Adds independent discrete Gaussian noise to integers. */
  addGaussian(values: readonly number[], amount: Amount): number[];
}

// Models

/** L1 or L2. */
export type Norm = 1 | 2;

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

// Events and the ledger

/** Whom a promise is for: what two neighbouring data sets may differ in. */
export type Unit = "sample" | "check-in";

/** Which samples of the minibatch a released value was computed from. */
export type Part = "training" | "heldout" | "all";

/** Integers that left the device with noise, at a level for each sample looked at. */
export interface Release extends Amount {
  readonly what: "gradient" | "errors" | "labels";
  /** Which samples were looked at. */
  readonly part: Part;
}

/** Everything that one check-in with noise told the server. */
export interface NoiseEvent {
  readonly unit: "sample";
  /** Samples behind the gradient. */
  readonly nTraining: number;
  /** Samples set aside for the error count. */
  readonly nHeldout: number;
  readonly releases: readonly Release[];
  /** δ for Gaussian noise; 0 for Laplace noise, whose levels are pure ε. */
  readonly delta: number;
}

/** One number left the device, chosen so that whatever is in the check-in is hidden. */
export interface DirectionEvent {
  readonly unit: "check-in";
  /** That of the check-in, 1, 2, … */
  readonly number: number;
  /** What the number says. */
  readonly role: "train" | "evaluate" | "count";
  /** ε for everything in the check-in at once. */
  readonly epsilon: number;
}

export type CheckinEvent = NoiseEvent | DirectionEvent;

/** How much ε the participant allows. */
export interface Limits {
  /** For any single sample. */
  readonly perSample: number;
  /** For the device, over all its check-ins. */
  readonly perDevice: number;
}

// The promise

/** A plain word for ε. */
export interface Level {
  /** The largest ε that has this level. */
  readonly most: number;
  /** The level in code and in style sheets. */
  readonly key: string;
  /** The level as a label. */
  readonly pill: Phrase;
  /** The level inside a sentence. */
  readonly word: Phrase;
}

/** A role of check-ins. */
export interface RoleShare {
  /** What such a check-in sends. */
  readonly role: DirectionEvent["role"];
  /** In this many … */
  readonly n: number;
  /** … of this many check-ins, on average. */
  readonly of: number;
  /** The probability that it sends one of the numbers that fit the samples best. */
  readonly truth: number;
}

// Mechanisms

/** One row of numbers per sample. */
export type Rows = readonly Float64Array[];

/** Where a check-in belongs, and the public numbers drawn for it. */
export interface Place {
  /** That of the check-in, 1, 2, … */
  readonly number: number;
  /** Two words from which its codebook is expanded. */
  readonly seed: readonly [number, number];
  /** A word that decides its role. */
  readonly lot: number;
}

/** How samples are hidden, and what that costs. */
export interface Mechanism {
  /** Whom the promise is for. */
  readonly unit: Unit;
  /** Features are rescaled to ‖x‖ ≤ 1 in this norm if they are longer. */
  readonly norm: Norm;
  /** What a check-in of so many samples will tell: known before anything is told. */
  event(nSamples: number, place: Place): CheckinEvent;
  /** What that costs, wherever it belongs. */
  cost(nSamples: number): Loss;
  /** Of a minibatch, exactly what the event says, and no more; and the truth, which stays. */
  tell(
    minibatch: Minibatch,
    event: CheckinEvent,
    place: Place,
    chance: Chance,
  ): { told: Noisy | Directed; truth: Truth };
}

/** A level in the terms: JSON has no infinity. */
export type WrittenLevel = number | "inf";

/** What a task can name, and what follows from it. */
export interface MechanismKind<R extends Rule<any> = Rule<any>> {
  /** The rule for its privacy terms. */
  readonly terms: R;
  make(privacy: ReturnType<R>, terms: Terms, model: LinearModel): Mechanism;
}

export type PrivacyTerms = ReturnType<(typeof MECHANISMS)[keyof typeof MECHANISMS]["terms"]>;

/** A law of integer noise. */
export interface Law {
  readonly norm: Norm;
  /** How far rounding can move so many numbers, in steps and in this norm. */
  rounding(size: number): number;
  /** How far two counts move together that move by one each. */
  readonly twoBins: number;
  /** Sensitivity over scale. */
  strength(level: number): number;
  add(values: readonly number[], release: Release, chance: Chance): number[];
}

/** ε, or ρ, of each thing that is sent; Infinity for no noise, labels 0 for none sent. */
export interface Levels {
  readonly gradient: number;
  readonly errors: number;
  readonly labels: number;
}

export interface NoiseSettings {
  law: Law;
  levels: Levels;
  /** S, the bound on every per-sample gradient in the law's norm. */
  clip: number;
  /** d, the number of parameters. */
  size: number;
  /** C; 0 for a real target. */
  nClasses: number;
  /** The share of samples set aside for counting errors. */
  heldout: number;
  /** λ. */
  regularization: number;
  /** R, the bound on ‖w‖₂. */
  radius: number;
  /** δ, for Gaussian noise. */
  delta: number;
}

export interface DirectionSettings {
  /** ε of one check-in. */
  epsilon: number;
  /** k. */
  directions: number;
  /** t. */
  closest: number;
  /** d, the number of parameters. */
  size: number;
  /** C; 0 for a real target. */
  nClasses: number;
  /** b. */
  batch: number;
  /** The share of check-ins that send right or wrong. */
  evaluators: number;
  /** The share of check-ins that send an answer. */
  counters: number;
  /** The typical size of a real target; 1 for labels. */
  scale: number;
  /** λ. */
  regularization: number;
}

/** ĝ, n_s, n̂_e and n̂_y on the wire: integers with exact noise. */
export interface Noisy {
  samples: number;
  heldout: number;
  errors: number;
  labels: readonly number[];
  grid: number;
  gradient: string;
}

/** One small number on the wire: a direction, or wrong (1) or right (0), or an answer. */
export interface Directed {
  number: number;
  direction?: number;
  wrong?: number;
  answer?: number;
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

/** How the number that was sent was chosen. */
export interface DirectionTruth {
  /** Of a direction: whether it is one of those that suit the samples best. */
  fits?: boolean;
  /** Where it is no direction: the number that would have been true. */
  answer?: number;
  /** The probability of this number, given the samples. */
  chance: number;
  /** The most that it can be, whatever the samples are. */
  likely: number;
  /** The least. */
  unlikely: number;
  /** How many numbers suit the samples best. */
  best: number;
  /** How many there are. */
  numbers: number;
}

/** What stays on the device. */
export type Truth = NoiseTruth | DirectionTruth;

/** A sanitised check-in that waits to be sent, with the exact bytes of its body. */
export interface Letter {
  readonly id: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A letter, what it tells, and the truth behind it, which stays on the device. */
/** A check-in that the ledger has approved, made once and spent exactly as it is. */
export interface Approval {
  place: Place;
  event: CheckinEvent;
  /** How many samples it uses: the oldest ones in the buffer. */
  nSamples: number;
}

export interface Written {
  letter: Letter;
  event: CheckinEvent;
  truth: Truth;
}

// Sentences

/** A sentence that a page can say in its language; memory can store it, JSON can carry it. */
export interface Phrase {
  /** English, with {names}. */
  readonly template: string;
  /** Texts that no language changes, numbers that each writes in its way, and phrases. */
  readonly values: Readonly<Record<string, string | number | Phrase>>;
}

/** Why a device has stopped. */
export interface End {
  /** `left`, `fulfilled`, or the kind of the problem with which the server refused. */
  readonly code: string;
  readonly phrase: Phrase;
}

// Memory

/** What a participant agreed to, as the device that the server named. */
export interface Agreed {
  device: string;
  terms: string;
  limits: Limits;
}

/** Who the device is, where it takes part and what it agreed to. */
export interface Identity extends Agreed {
  url: string;
  task: string;
  token: string;
  /** A text in what earlier versions stored. */
  ended: End | string | null;
}

/** One check-in as the participant may see it. */
export interface Sent {
  id: string;
  /** When it was written, in milliseconds since 1970. */
  time: number;
  event: CheckinEvent;
  /** What was sent, byte for byte. */
  body: Uint8Array<ArrayBuffer>;
  /** What is hidden. It never leaves the device. */
  truth: Truth;
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
  /** By default one check-in's cost, and all check-ins of the terms, or twenty. */
  limits?: Limits;
  /** Join even a task that is not private. */
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
