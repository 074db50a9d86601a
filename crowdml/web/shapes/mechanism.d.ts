/** How samples are hidden, what that costs, and who reads it. */

import type { LinearModel } from "../models/linear.js";
import type { Loss } from "../privacy/loss.js";
import type { Minibatch } from "../privacy/minibatch.js";
import type { PrivacyPromise } from "../protocol/promise.js";
import type { Terms } from "../protocol/terms.js";
import type { Chance } from "./chance.js";
import type { Norm } from "./model.js";
import type { Phrase } from "./phrase.js";
import type { Rule } from "./schema.js";

/** Whom a promise is for: what two neighbouring data sets may differ in. */
export type Unit = "sample" | "check-in";

/** What one check-in sent, as its mechanism describes it: a plain object that memory can store. */
export interface CheckinEvent {
  /** The tag of the `EventKind` that reads it. */
  readonly kind: string;
  /** The role of the check-in, where check-ins have roles. */
  readonly role?: string;
}

/** Where a check-in belongs, and the public numbers drawn for it. */
export interface CheckinKey {
  /** The number of the check-in, 1, 2, … */
  readonly number: number;
  /** Two words from which its codebook is expanded. */
  readonly seed: readonly [number, number];
  /** A word that decides its role. */
  readonly roleWord: number;
}

/** A role of check-ins. */
export interface RoleShare {
  /** What such a check-in sends: the name of the sentence that says it. */
  readonly role: string;
  /** In this many … */
  readonly n: number;
  /** … of this many check-ins, on average. */
  readonly of: number;
  /** The probability that it sends one of the numbers that fit the samples best. */
  readonly truth: number;
}

/** How samples are hidden, and what that costs. */
export interface Mechanism {
  readonly unit: Unit;
  /** Features are rescaled to ‖x‖ ≤ 1 in this norm if they are longer. */
  readonly norm: Norm;
  /** How many numbers a check-in carries. */
  readonly numbers: number;
  /** About how many multiplications it takes to hide one gradient: a public number. */
  readonly operations: number;
  /** The largest share of the loss that counts have; only some mechanisms have counts. */
  readonly countsShare?: number;
  /** How many directions there are to choose from, where one is sent. */
  readonly directions?: number;
  /** The roles of check-ins, where not all of them send the same. */
  readonly roles?: readonly RoleShare[];
  /** What a check-in of `nSamples` samples will send: known before anything is sent. */
  event(nSamples: number, key: CheckinKey): CheckinEvent;
  /** What such a check-in costs, whatever its key is. */
  cost(nSamples: number): Loss;
  /**
   * Makes exactly what the event says from a minibatch, and the truth, which stays on the device.
   */
  makePayload(
    minibatch: Minibatch,
    event: CheckinEvent,
    key: CheckinKey,
    chance: Chance,
  ): { payload: object; truth: object };
}

/** A level in the terms: JSON has no infinity. */
export type WrittenLevel = number | "inf";

/** What the privacy terms of every mechanism have. */
export interface PrivacyTerms {
  readonly mechanism: string;
  /** The declared ε, at least what a check-in costs. */
  readonly epsilon: WrittenLevel;
}

/** A mechanism that a task can name, and everything that other modules ask about it. */
export interface MechanismKind<
  R extends Rule<PrivacyTerms> = Rule<any>,
  E extends CheckinEvent = any,
  Payload = any,
  Truth = any,
> {
  readonly terms: R;
  /** Throws `InvalidInput` for terms that the mechanism cannot keep. */
  make(privacy: ReturnType<R>, terms: Terms, model: LinearModel): Mechanism;
  /** The sentences that say what a check-in sends, by their names in `SENDING_SENTENCES`, in that order. */
  sendingSentences(promise: PrivacyPromise): Iterable<[string, Phrase]>;
  readonly event: EventKind<E, Payload, Truth>;
}

/** Reads the events that a mechanism has made; several mechanisms may share one. */
export interface EventKind<E extends CheckinEvent = any, Payload = any, Truth = any> {
  /** The `kind` of its events. */
  readonly tag: string;
  /** What the mechanism's unit loses: each sample, or the whole check-in. */
  loss(event: E): Loss;
  /** What is lost when every sample of the check-in is replaced at once. */
  wholeLoss(event: E): Loss;
  /** What was sent, in two words. */
  summary(event: E): Phrase;
  /** What was sent, and what is true, for the participant. */
  shown(payload: Payload, truth: Truth, labels: readonly string[]): Shown;
}

/** A text as it is, a phrase, or a number that is shown with four decimals. */
export type Cell = string | number | Phrase;

/** What it is, what is true, and what was sent instead. */
export type ShownNumber = [what: Cell, truth: Cell, sent: Cell];

export interface Shown {
  rows: ShownNumber[];
  /** How likely the chosen number was. */
  probabilities?: ChoiceProbabilities;
}

export interface ChoiceProbabilities {
  /** The probability of this number, given the samples. */
  readonly probability: number;
  /** The largest probability for any samples. */
  readonly likely: number;
  /** The smallest probability for any samples. */
  readonly unlikely: number;
}
