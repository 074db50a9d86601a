/** The mechanism that sends one small number. */

import type { CheckinEvent, ChoiceProbabilities } from "./mechanism.js";
import type { ModelConstants } from "./model.js";

/** One number that left the device, chosen so that everything in the check-in is hidden. */
export interface DirectionEvent extends CheckinEvent {
  /** The number of the check-in, 1, 2, … */
  readonly number: number;
  readonly role: "train" | "evaluate" | "count";
  /** ε for everything in the check-in at once. */
  readonly epsilon: number;
}

export interface DirectionSettings extends ModelConstants {
  /** ε of one check-in. */
  epsilon: number;
  /** k. */
  directions: number;
  /** t. */
  closest: number;
  /** b. */
  batch: number;
  /** The share of check-ins that send right or wrong. */
  evaluators: number;
  /** The share of check-ins that send an answer. */
  counters: number;
  /** The typical size of a real target; 1 for labels. */
  scale: number;
}

/** One small number on the wire: a direction, or wrong (1) or right (0), or an answer. */
export interface DirectionPayload {
  number: number;
  direction?: number;
  wrong?: number;
  answer?: number;
}

/** How the number that was sent was chosen. */
export interface DirectionTruth extends ChoiceProbabilities {
  /** Of a direction: whether it is among the directions that suit the samples best. */
  fits?: boolean;
  /** If no direction was sent: the number that would have been true. */
  answer?: number;
  /** How many numbers suit the samples best. */
  best: number;
  /** How many numbers there are. */
  numbers: number;
}
