/** Decide when a device tries again, and store the reason to wait. */

import { Chance } from "../privacy/chance.js";
import { Outcome } from "./outcome.js";

/** @import { OutcomeName, RetryTimerSettings } from "../types.js" */

/** The length of a slot, in seconds: a check-in is sent `Terms.slots` slots after its check-out. */
export const SLOT = 0.05;

const RANDOM_STEPS = 1_000_000;

/**
 * Wait after failures, and before a check-in.
 *
 * After k failures in a row a device waits base·2^k seconds, at most `longest`, times a random ½ …
 * 1½. Once a minibatch is full it waits a random part of `jitter` seconds, so that the time of a
 * check-in does not reveal when its last sample was taken.
 */
export class RetryTimer {
  #settings;
  #failures = 0;
  #batchIsKnown = false;
  #notBefore = -Infinity;
  /** Whether the server has said how long to wait. */
  asked = false;
  /** @type {OutcomeName} */
  #reason = Outcome.WAITING;

  /** @param {Partial<RetryTimerSettings>} [settings] */
  constructor(settings = {}) {
    const clock = () => performance.now() / 1000;
    const standard = { base: 1, longest: 300, jitter: 0, clock, chance: new Chance() };
    /** @type {RetryTimerSettings} */
    this.#settings = { ...standard, ...settings };
  }

  get isDue() {
    return this.seconds === 0;
  }

  get seconds() {
    return Math.max(0, this.#notBefore - this.#settings.clock());
  }

  get reason() {
    return this.#reason;
  }

  /**
   * Wait before the next attempt, and remember the reason.
   *
   * @param {OutcomeName} reason
   * @param {number} [atLeast] Seconds that the server asks for.
   * @returns {OutcomeName} The same.
   */
  waitAfterFailure(reason, atLeast = 0) {
    const { base, longest, clock } = this.#settings;
    const delay = Math.min(longest, base * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    this.#notBefore = clock() + Math.max(delay * (0.5 + this.#part()), atLeast);
    this.#reason = reason;
    this.asked = atLeast > 0;
    return reason;
  }

  /** Note that a minibatch is full; noting it again changes nothing. */
  batchFilled() {
    const { jitter, clock } = this.#settings;
    if (jitter && !this.#batchIsKnown) {
      this.#notBefore = Math.max(this.#notBefore, clock() + jitter * this.#part());
    }
    this.#batchIsKnown = true;
  }

  /** Note that an attempt succeeded, or may succeed now: stop waiting. */
  clear() {
    this.#failures = 0;
    this.#batchIsKnown = false;
    this.#notBefore = -Infinity;
    this.#reason = Outcome.WAITING;
  }

  #part() {
    return this.#settings.chance.below(RANDOM_STEPS) / RANDOM_STEPS;
  }
}
