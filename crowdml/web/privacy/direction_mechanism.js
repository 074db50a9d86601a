/** Make check-ins that name one of k directions: privacy for everything in a check-in at once. */

import { phrase } from "../phrase.js";
import { roundHalfUp } from "../protocol/numbers_in_words.js";
import { fail } from "../protocol/schema.js";
import { Choice, closestFirst } from "./choice.js";
import { Codebook, inWholeNumbers } from "./codebook.js";
import { Loss } from "./loss.js";

/**
 * @import {
 *   Chance, CheckinKey, DirectionEvent, DirectionSettings, Mechanism, Minibatch, RoleShare
 * } from "../types.js"
 */

export const KIND = "direction";

/** S·b: an average gradient at least this long counts only by its direction. */
const LENGTH = 0.3;

const WORD = 2 ** 32;
const PROBABILITY_STEPS = 2 ** 53;

/** Shares are written as n of at most this many check-ins. */
const MOST_SHARED = 1000;

/**
 * Rank k public directions by the gradient, and name one of the best, or of the others.
 *
 * A public rule gives each check-in one role, and the check-in spends all of its ε on it. To
 * evaluate, it draws one of its samples, predicts it, and sends right or wrong; to count, it draws
 * one and sends its label. Both are randomised response: the same choice with one best number.
 *
 * Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
 *
 * @implements {Mechanism}
 */
export class DirectionMechanism {
  /** @type {"check-in"} */
  unit = "check-in";
  /** @type {2} */
  norm = 2;
  numbers = 1;
  #settings;

  /** @param {DirectionSettings} settings */
  constructor(settings) {
    const { directions, closest, epsilon, nClasses } = settings;
    this.#settings = settings;
    this.directions = directions;
    this.operations = directions * settings.size;
    this.choices = {
      train: new Choice(directions, closest, epsilon),
      evaluate: new Choice(2, 1, epsilon),
      count: new Choice(Math.max(nClasses, 2), 1, epsilon),
    };
  }

  /** @type {(_: number, key: CheckinKey) => DirectionEvent} */
  event(_, key) {
    const { epsilon, evaluators, counters } = this.#settings;
    const others = key.roleWord < (evaluators + counters) * WORD ? "count" : "train";
    const role = key.roleWord < evaluators * WORD ? "evaluate" : others;
    return { kind: KIND, number: key.number, role, epsilon };
  }

  /** @returns {RoleShare[]} */
  get roles() {
    const { evaluators, counters } = this.#settings;
    const of = denominator(evaluators, counters);
    const [evaluate, count] = [evaluators, counters].map((s) => s && Math.max(1, roundHalfUp(s * of)));
    const n = { train: of - (evaluate ?? 0) - (count ?? 0), evaluate, count };
    return /** @type {DirectionEvent["role"][]} */ (Object.keys(n))
      .filter((role) => n[role])
      .map((role) => ({ role, n: n[role] ?? 0, of, truth: this.choices[role].p }));
  }

  cost() {
    return lossOf(this.#settings);
  }

  /**
   * @param {Minibatch} minibatch
   * @param {DirectionEvent} event
   * @param {CheckinKey} key
   * @param {Chance} chance
   */
  makePayload(minibatch, event, key, chance) {
    const { number } = key;
    const own = event.kind === KIND && event.number === number;
    if (!own || event.epsilon !== this.#settings.epsilon) {
      fail("for check-in {n} itself", phrase("an event"), event, { n: number });
    }
    if (event.role === "train") return this.#direct(minibatch, key, chance);
    const truths = event.role === "count" ? minibatch.labels : minibatch.mistakes().map(Number);
    const { sent, truth } = respond(truths, this.choices[event.role], chance);
    return { payload: { number, [event.role === "count" ? "answer" : "wrong"]: sent }, truth };
  }

  /**
   * @param {Minibatch} minibatch
   * @param {CheckinKey} key
   * @param {Chance} chance
   */
  #direct(minibatch, { number, seed }, chance) {
    const { size, directions, closest } = this.#settings;
    const { whole, length } = inWholeNumbers(this.#gradient(minibatch));
    const scores = new Codebook(size, seed).scores(whole, directions);
    const ahead = closestFirst(scores, closest);
    const back = closestFirst(scores.map((score) => -score), closest);
    const turning = this.#turning(length);
    const turned = chance.below(PROBABILITY_STEPS) < turning * PROBABILITY_STEPS;
    const direction = this.choices.train.choose(turned ? back : ahead, chance);
    const fits = ahead.indexOf(direction) < closest;
    const fitsBack = back.indexOf(direction) < closest;
    const share = Number(fits) * (1 - turning) + Number(fitsBack) * turning;
    return { payload: { number, direction }, truth: { fits, ...this.choices.train.probabilities(share) } };
  }

  /** @param {Minibatch} minibatch */
  #gradient(minibatch) {
    const everyone = Array.from({ length: minibatch.nSamples }, () => true);
    const g = minibatch.meanGradient(everyone, Infinity, this.norm);
    const { regularization } = this.#settings;
    return g.map((value, j) => value + regularization * (minibatch.w[j] ?? NaN));
  }

  /**
   * Return the probability to reverse a short u, which makes its length right on average.
   *
   * @param {number} length
   */
  #turning(length) {
    const longest = (LENGTH * this.#settings.scale) / this.#settings.batch;
    return (1 - Math.min(1, length / longest)) / 2;
  }
}

/**
 * Send the truth about one sample, or a random other number.
 *
 * @param {readonly number[]} truths For each sample.
 * @param {Choice} choice
 * @param {Chance} chance
 */
function respond(truths, choice, chance) {
  const answer = /** @type {number} */ (truths[chance.below(truths.length)]);
  const numbers = Array.from({ length: choice.k }, (_, n) => n);
  const sent = choice.choose([answer, ...numbers.filter((n) => n !== answer)], chance);
  const share = truths.filter((each) => each === sent).length / truths.length;
  return { sent, truth: { answer, ...choice.probabilities(share) } };
}

/**
 * Return the least number of check-ins for which these shares are whole numbers.
 *
 * @param {number[]} shares
 */
function denominator(...shares) {
  let of = 1;
  const fits = (/** @type {number} */ s) =>
    Math.abs(s * of - roundHalfUp(s * of)) < 1e-6 && (s === 0 || roundHalfUp(s * of) > 0);
  while (of < MOST_SHARED && !shares.every(fits)) of++;
  return of;
}

/** @param {{epsilon: number}} event */
export const lossOf = ({ epsilon }) => new Loss({ epsilon });
