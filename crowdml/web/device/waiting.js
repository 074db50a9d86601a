/** Decide when a device tries again, and store the reason to wait. */

import { Chance } from "../privacy/chance.js";
import { Outcome } from "./outcome.js";

/** @import { OutcomeName, WaitingSettings } from "../types.js" */

/** The length of a slot, in seconds: a check-in is sent `Terms.slots` slots after its check-out. */
export const SLOT = 0.05;

const PARTS = 1_000_000;

/**
 * Wait after failures, and before a check-in.
 *
 * After k failures in a row a device waits base·2^k seconds, at most `longest`, times a random ½ …
 * 1½. Once a minibatch is full it waits a random part of `jitter` seconds, so that the time of a
 * check-in does not reveal when its last sample was taken.
 */
export class Waiting {
  #settings;
  #failures = 0;
  #batchIsKnown = false;
  #notBefore = -Infinity;
  /** Whether the server has said how long to wait. */
  asked = false;
  /** @type {OutcomeName} */
  #why = Outcome.WAITING;

  /** @param {Partial<WaitingSettings>} [settings] */
  constructor(settings = {}) {
    const clock = () => performance.now() / 1000;
    const standard = { base: 1, longest: 300, jitter: 0, clock, chance: new Chance() };
    /** @type {WaitingSettings} */
    this.#settings = { ...standard, ...settings };
  }

  get due() {
    return this.seconds === 0;
  }

  get seconds() {
    return Math.max(0, this.#notBefore - this.#settings.clock());
  }

  get why() {
    return this.#why;
  }

  /**
   * Note a failed attempt, and wait before the next attempt.
   *
   * @param {OutcomeName} why
   * @param {number} [atLeast] Seconds that the server asks for.
   * @returns {OutcomeName} The same.
   */
  hold(why, atLeast = 0) {
    const { base, longest, clock } = this.#settings;
    const delay = Math.min(longest, base * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    this.#notBefore = clock() + Math.max(delay * (0.5 + this.#part()), atLeast);
    this.#why = why;
    this.asked = atLeast > 0;
    return why;
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
    this.#why = Outcome.WAITING;
  }

  #part() {
    return this.#settings.chance.below(PARTS) / PARTS;
  }
}
