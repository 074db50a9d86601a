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
 * A public rule gives each check-in one role, and the check-in spends all of its ε on it. To
 * evaluate, it draws one of its samples, predicts it, and sends right or wrong; to count, it draws
 * one and sends its label. Both are randomised response: the same choice with one best number.
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

  /** @param {DirectionSettings} settings */
  constructor(settings) {
    const { directions, closest, epsilon, nClasses } = settings;
    this.#settings = settings;
    /** What decides the number that is sent, for each role. */
    this.choices = {
      train: new Choice(directions, closest, epsilon),
      evaluate: new Choice(2, 1, epsilon),
      count: new Choice(Math.max(nClasses, 2), 1, epsilon),
    };
  }

  /**
   * @param {number} _
   * @param {Place} place
   * @returns {DirectionEvent}
   */
  event(_, place) {
    const { epsilon, evaluators, counters } = this.#settings;
    const others = place.lot < (evaluators + counters) * WORD ? "count" : "train";
    const role = place.lot < evaluators * WORD ? "evaluate" : others;
    return { unit: this.unit, number: place.number, role, epsilon };
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
    const { number } = place;
    const own = event.unit === "check-in" && event.number === number;
    if (!own || event.epsilon !== this.#settings.epsilon) {
      throw new InvalidInput("an event must be for check-in {n} itself, found {found}.", {
        n: number,
        found: JSON.stringify(event),
      });
    }
    if (event.role === "train") return this.#direct(minibatch, place, chance);
    const truths = event.role === "count" ? minibatch.labels : minibatch.mistakes().map(Number);
    const { sent, truth } = respond(truths, this.choices[event.role], chance);
    return { told: { number, [event.role === "count" ? "answer" : "wrong"]: sent }, truth };
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
    const direction = this.choices.train.tell(turned ? back : ahead, chance);
    const fits = ahead.indexOf(direction) < closest;
    const fitsBack = back.indexOf(direction) < closest;
    const share = Number(fits) * (1 - turning) + Number(fitsBack) * turning;
    return { told: { number, direction }, truth: { fits, ...this.choices.train.odds(share) } };
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
}

/**
 * The truth about one sample, or by chance another number.
 *
 * @param {readonly number[]} truths For each sample.
 * @param {Choice} choice
 * @param {Chance} chance
 */
function respond(truths, choice, chance) {
  const answer = /** @type {number} */ (truths[chance.below(truths.length)]);
  const numbers = Array.from({ length: choice.k }, (_, n) => n);
  const sent = choice.tell([answer, ...numbers.filter((n) => n !== answer)], chance);
  const share = truths.filter((each) => each === sent).length / truths.length;
  return { sent, truth: { answer, ...choice.odds(share) } };
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
