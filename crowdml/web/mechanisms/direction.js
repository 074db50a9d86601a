/** A check-in that says one of k directions: privacy for everything in it at once. */

import { InvalidInput } from "../errors.js";
import { lengthOf } from "../features.js";
import { Loss } from "../loss.js";
import { Choice } from "./choice.js";
import { Codebook } from "./codebook.js";

/** @import { Minibatch } from "../minibatch.js" */
/**
 * @import {
 *   Chance, CheckinEvent, DirectionEvent, DirectionSettings, Mechanism, Place
 * } from "../types.js"
 */

/** S·b: an average gradient this long or longer counts as a direction alone. */
const LENGTH = 0.3;

const WORD = 2 ** 32;
const FINE = 2 ** 53;

/**
 * Rank k public directions by the gradient, and name one of the best, or of the others.
 *
 * A check-in either trains or evaluates, by a public rule, and spends all of its ε on that. One
 * that evaluates draws one of its samples, predicts it, and tells (label, right or wrong) by
 * randomised response, which is the same choice with one best number.
 *
 * Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
 *
 * @implements {Mechanism}
 */
export class DirectionMechanism {
  /** @readonly @type {"check-in"} */
  unit = "check-in";
  /** @readonly @type {2} */
  norm = 2;
  #settings;
  #training;
  #evaluating;

  /** @param {DirectionSettings} settings */
  constructor(settings) {
    const { directions, closest, epsilon, nClasses } = settings;
    this.#settings = settings;
    this.#training = new Choice(directions, closest, epsilon);
    this.#evaluating = new Choice(2 * Math.max(nClasses, 1), 1, epsilon);
  }

  /**
   * @param {number} _
   * @param {Place} place
   * @returns {DirectionEvent}
   */
  event(_, place) {
    const what = place.lot < this.#settings.evaluators * WORD ? "report" : "direction";
    return { unit: this.unit, number: place.number, what, epsilon: this.#settings.epsilon };
  }

  cost() {
    return new Loss({ epsilon: this.#settings.epsilon });
  }

  /**
   * @param {Minibatch} minibatch
   * @param {CheckinEvent} event
   * @param {Place} place
   * @param {Chance} chance
   */
  tell(minibatch, event, place, chance) {
    const { number, what, epsilon } = this.event(minibatch.nSamples, place);
    const own = event.unit === "check-in" && event.number === number && event.what === what;
    if (!own || event.epsilon !== epsilon) {
      throw new InvalidInput("an event must be that of the check-in itself, found {found}.", {
        found: JSON.stringify(event),
      });
    }
    return what === "report"
      ? this.#report(minibatch, number, chance)
      : this.#direct(minibatch, place, chance);
  }

  /**
   * @param {Minibatch} minibatch
   * @param {Place} place
   * @param {Chance} chance
   */
  #direct(minibatch, { number, seed }, chance) {
    const { size, directions, closest } = this.#settings;
    const u = this.#gradient(minibatch);
    const scores = new Codebook(size, seed).scores(u, directions);
    const ahead = closestFirst(scores, closest);
    const back = closestFirst(scores.map((score) => -score), closest);
    const turning = this.#turning(u);
    const turned = chance.below(FINE) < turning * FINE;
    const direction = this.#training.tell(turned ? back : ahead, chance);
    const fits = ahead.indexOf(direction) < closest;
    const fitsBack = back.indexOf(direction) < closest;
    const share = Number(fits) * (1 - turning) + Number(fitsBack) * turning;
    return { told: { number, direction }, truth: { fits, ...this.#training.odds(share) } };
  }

  /** @param {Minibatch} minibatch */
  #gradient(minibatch) {
    const everyone = Array.from({ length: minibatch.nSamples }, () => true);
    const g = minibatch.meanGradient(everyone, Infinity, this.norm);
    const { regularization } = this.#settings;
    return g.map((value, j) => value + regularization * (minibatch.w[j] ?? NaN));
  }

  /**
   * A short u is turned round with a chance that makes its length right on average.
   *
   * @param {Float64Array} u
   */
  #turning(u) {
    const length = (LENGTH * this.#settings.scale) / this.#settings.batch;
    return (1 - Math.min(1, lengthOf(u, this.norm) / length)) / 2;
  }

  /**
   * @param {Minibatch} minibatch
   * @param {number} number
   * @param {Chance} chance
   */
  #report(minibatch, number, chance) {
    const { labels, nSamples } = minibatch;
    const answers = minibatch.mistakes().map((wrong, i) => 2 * (labels[i] ?? 0) + Number(wrong));
    const answer = /** @type {number} */ (answers[chance.below(nSamples)]);
    const reports = Array.from({ length: this.#evaluating.k }, (_, r) => r);
    const order = [answer, ...reports.filter((r) => r !== answer)];
    const report = this.#evaluating.tell(order, chance);
    const share = answers.filter((each) => each === report).length / nSamples;
    return { told: { number, report }, truth: { answer, ...this.#evaluating.odds(share) } };
  }
}

/**
 * The numbers of the t highest scores, then of the others: each number once, whatever the scores
 * are, and both parts in ascending order, so that the same draws mean the same in every language.
 *
 * @param {Float64Array} scores
 * @param {number} t
 * @returns {number[]}
 */
function closestFirst(scores, t) {
  const numbers = Array.from(scores, (_, j) => j);
  const ranked = [...numbers].sort((i, j) => (scores[j] ?? NaN) - (scores[i] ?? NaN));
  const best = new Set(ranked.slice(0, t));
  return [...best].sort((i, j) => i - j).concat(numbers.filter((j) => !best.has(j)));
}
