/** What a page gives to a device. */

import type { RetryTimer } from "../device/retry_timer.js";
import type { Chance, RandomIndex } from "./chance.js";
import type { Transport } from "./network.js";
import type { Limits } from "./storage.js";

/** What a participant may choose when joining. */
export interface JoinOptions {
  /** An invite code, where the task asks for one. */
  invite?: string;
  /** Reject the task unless its terms have this hash. */
  termsSha256?: string;
  /** By default the cost of one check-in, and of all check-ins of the terms, or twenty. */
  limits?: Limits;
  /** Join even a task that is not private. */
  acceptNoPrivacy?: boolean;
}

export interface Options {
  /** The server's root; by default where this page came from. */
  url?: string;
  /** The way to the server; by default fetch. */
  transport?: Transport;
  /** All randomness; by default from the browser's generator. */
  chance?: Chance;
  /** When to try again; by default soon, and after each failure later. */
  retryTimer?: RetryTimer;
}

/** In seconds. */
export interface RetryTimerSettings {
  base: number;
  longest: number;
  jitter: number;
  clock(): number;
  chance: RandomIndex;
}
