/** Where noise comes from: the one seam between a mechanism and its randomness. */

import { InvalidInput } from "./errors.js";
import { asFraction, ceilRatio, floorLog2, powerOfTwo } from "./exact.js";
import { Random } from "./random.js";

/** @import { Level } from "./types.js" */

const PRECISION = 31;
const LARGEST = 2 ** 43;

/**
 * A scale t/s ≥ sensitivity/ε in whole numbers, s a power of two.
 *
 * ε is the fraction that the float is, and only the last step rounds: up, so towards more noise,
 * by less than one part in 2³¹.
 *
 * @param {Level} level
 * @returns {{t: number, s: number}}
 */
export function laplaceScale({ sensitivity, epsilon }) {
  const k = Math.max(0, PRECISION - floorLog2(sensitivity / epsilon));
  const { m, e } = asFraction(epsilon);
  const t = ceilRatio(BigInt(sensitivity), k - e, m);
  if (!(t <= LARGEST)) {
    throw new InvalidInput(`a noise scale must be at most 2^43, found ${sensitivity}/${epsilon}.`);
  }
  return { t, s: powerOfTwo(k) };
}

/**
 * Exact samples: integers in, integers out, and no float is ever random.
 *
 * Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, Algorithm 2.
 */
export class ExactNoise {
  #random;

  /** @param {{below(n: number): number}} [random] */
  constructor(random = new Random()) {
    this.#random = random;
  }

  /**
   * @param {readonly number[]} values
   * @param {Level} level
   * @returns {number[]}
   */
  addLaplace(values, level) {
    const { t, s } = laplaceScale(level);
    return values.map((value) => value + this.#laplace(t, s));
  }

  /**
   * z with P(z) ∝ exp(−|z|·s/t).
   *
   * u + t·v is exact below 2⁵³, for t < 2⁴³ that is for v < 1024: more has a chance of e^−1024.
   *
   * @param {number} t
   * @param {number} s
   * @returns {number}
   */
  #laplace(t, s) {
    for (;;) {
      const u = this.#random.below(t);
      if (!this.#flipExp(u, t)) continue;
      let v = 0;
      while (this.#flipExp(1, 1)) v++;
      const magnitude = Math.floor((u + t * v) / s);
      const negative = this.#random.below(2) === 1;
      // Zero has one sign only, or it would come up twice as often as it should.
      if (magnitude || !negative) return negative ? -magnitude : magnitude;
    }
  }

  /**
   * True with probability exp(−u/t), for u ≤ t.
   *
   * The k-th flip succeeds with u/(t·k), here as two flips with u/t and 1/k.
   *
   * @param {number} u
   * @param {number} t
   * @returns {boolean}
   */
  #flipExp(u, t) {
    let k = 1;
    while (this.#random.below(t) < u && this.#random.below(k) === 0) k++;
    return k % 2 === 1;
  }
}
