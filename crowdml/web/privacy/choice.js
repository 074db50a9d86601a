/** Choose one number of k: all randomness of the direction mechanism, in integers. */

import { phrase } from "../phrase.js";
import { fail, integer } from "../protocol/schema.js";
import { asFraction } from "./exact.js";
import { at } from "./features.js";

/** @import { RandomIndex } from "../types.js" */

const WORD = 2 ** 32;
const COIN = 2n ** 64n;

/** Beyond this the coin of 64 bits would always come up the same way. */
const LARGEST_EPSILON = 40;

/**
 * e^ε is reduced by a share of 2⁻⁵⁰, since a float's exp may be off by a unit in the last place.
 */
const CAREFUL = 50n;

/**
 * Choose one of the t best of k numbers with probability p, otherwise one of the k − t others.
 *
 * Whatever is best, each number is chosen with probability p/t or (1 − p)/(k − t). So for any two
 * data sets the probabilities of a number differ by a factor of at most
 * p(k − t)/((1 − p)t) ≤ e^ε. That is the whole proof.
 */
export class Choice {
  /**
   * @param {number} k How many numbers there are.
   * @param {number} t How many of them are the best.
   * @param {number} epsilon ε.
   */
  constructor(k, t, epsilon) {
    this.k = integer(2, WORD)(k, "k");
    this.t = integer(1, k - 1)(t, "t");
    if (!(epsilon > 0 && epsilon <= LARGEST_EPSILON)) {
      fail("above 0 and at most {most}", phrase("ε of a check-in"), epsilon, { most: LARGEST_EPSILON });
    }
    /** p in 2⁻⁶⁴, rounded down, so that the true ε is at most what is charged. */
    this.coin = coinOf(BigInt(t), BigInt(k - t), epsilon);
  }

  get p() {
    return Number(this.coin) / Number(COIN);
  }

  /**
   * Return the probability of a number that is among the best with probability `share`, and of
   * numbers that always are and never are.
   *
   * @param {number} share
   */
  probabilities(share) {
    const { p } = this;
    const likely = p / this.t;
    const unlikely = (1 - p) / (this.k - this.t);
    const probability = likely * share + unlikely * (1 - share);
    return { probability, likely, unlikely, best: this.t, numbers: this.k };
  }

  /**
   * @param {ArrayLike<number>} order All k numbers, the t best ones first.
   * @param {RandomIndex} chance Where the coin and the two uniform choices come from.
   */
  choose(order, chance) {
    const draw = (BigInt(chance.below(WORD)) << 32n) + BigInt(chance.below(WORD));
    const { k, t } = this;
    const rank = draw < this.coin ? chance.below(t) : t + chance.below(k - t);
    return /** @type {number} */ (order[rank]);
  }
}

/**
 * ⌊2⁶⁴·t·o/(t·o + k − t)⌋, with the odds o = m·2^e·(1 − 2⁻⁵⁰) a little below e^ε.
 *
 * @param {bigint} best t.
 * @param {bigint} others k − t.
 * @param {number} epsilon
 */
function coinOf(best, others, epsilon) {
  const { m, e } = asFraction(Math.exp(epsilon));
  const over = best * m * (2n ** CAREFUL - 1n);
  // e is at most 5, for ε at most 40.
  const under = over + (others << (CAREFUL - BigInt(e)));
  return (COIN * over) / under;
}

/**
 * List the numbers of the t highest scores, then of the others.
 *
 * Each number comes once, whatever the scores are, and both parts are in ascending order, so that
 * the same draws mean the same in every language. Of equal scores, the score with the lowest number
 * is the highest.
 *
 * @type {(scores: Float64Array, t: number) => number[]}
 */
export function closestFirst(scores, t) {
  const k = scores.length;
  const keys = scores.map((score, j) => k * score - j); // exact: everything is below 2⁵³
  const least = at(Float64Array.from(keys).sort(), k - t);
  const numbers = Array.from(keys, (_, j) => j);
  const isBest = (/** @type {number} */ j) => at(keys, j) >= least;
  return [...numbers.filter(isBest), ...numbers.filter((j) => !isBest(j))];
}
