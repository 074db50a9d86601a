/** When a device tries again, and what it waits for. */

import { Chance } from "./chance.js";
import { Outcome } from "./outcome.js";

/** @import { OutcomeName } from "./outcome.js" */
/** @import { Draw } from "./types.js" */

const PARTS = 1_000_000;

/**
 * After k failures in a row a device waits base·2^k seconds, at most `longest`, times a random
 * ½ … 1½. Once a minibatch is full it waits a random part of `jitter` seconds, so that the time of
 * a check-in does not tell when its last sample was taken.
 */
export class Waiting {
  #base;
  #longest;
  #jitter;
  #clock;
  #chance;
  #failures = 0;
  #postponed = false;
  #notBefore = -Infinity;
  /** @type {OutcomeName} */
  #why = Outcome.WAITING;

  /**
   * @param {{base?: number, longest?: number, jitter?: number, clock?: () => number,
   *   chance?: Draw}} [options] In seconds.
   */
  constructor({
    base = 1,
    longest = 300,
    jitter = 0,
    clock = () => performance.now() / 1000,
    chance = new Chance(),
  } = {}) {
    this.#base = base;
    this.#longest = longest;
    this.#jitter = jitter;
    this.#clock = clock;
    this.#chance = chance;
  }

  /** Whether the time for an attempt has come. */
  get due() {
    return this.seconds === 0;
  }

  /** Seconds until the next attempt. */
  get seconds() {
    return Math.max(0, this.#notBefore - this.#clock());
  }

  /** What the next attempt waits for. */
  get why() {
    return this.#why;
  }

  /**
   * An attempt failed: wait before the next one.
   *
   * @param {OutcomeName} why
   * @param {number} [atLeast] Seconds that the server asks for.
   * @returns {OutcomeName} The same.
   */
  hold(why, atLeast = 0) {
    const delay = Math.min(this.#longest, this.#base * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    this.#postpone(Math.max(delay * (0.5 + this.#part()), atLeast));
    this.#why = why;
    return why;
  }

  /** A minibatch is full; said again of the same one, it changes nothing. */
  batchFilled() {
    if (!this.#postponed) this.#postpone(this.#jitter * this.#part());
    this.#postponed = true;
  }

  /** An attempt succeeded, or may do so now: nothing is waited for. */
  clear() {
    this.#failures = 0;
    this.#postponed = false;
    this.#notBefore = -Infinity;
    this.#why = Outcome.WAITING;
  }

  /** @param {number} seconds */
  #postpone(seconds) {
    this.#notBefore = Math.max(this.#notBefore, this.#clock() + seconds);
  }

  /** 0 … 1, all parts equally likely. */
  #part() {
    return this.#chance.below(PARTS) / PARTS;
  }
}
