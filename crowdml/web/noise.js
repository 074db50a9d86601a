/** The noise: exact discrete Laplace numbers, made of uniform ones. */

import { InvalidInput } from "./errors.js";
import { asFraction, ceilRatio, floorLog2, powerOfTwo } from "./exact.js";

/** @import { Draw, Level } from "./types.js" */

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
 *
 * @param {readonly number[]} values
 * @param {Level} level
 * @param {Draw} chance
 * @returns {number[]}
 */
export function addLaplace(values, level, chance) {
  const { t, s } = laplaceScale(level);
  return values.map((value) => value + laplace(t, s, chance));
}

/**
 * z with P(z) ∝ exp(−|z|·s/t).
 *
 * u + t·v is exact below 2⁵³, for t < 2⁴³ that is for v < 1024: more has a chance of e^−1024.
 *
 * @param {number} t
 * @param {number} s
 * @param {Draw} chance
 * @returns {number}
 */
function laplace(t, s, chance) {
  for (;;) {
    const u = chance.below(t);
    if (!flipExp(u, t, chance)) continue;
    let v = 0;
    while (flipExp(1, 1, chance)) v++;
    const magnitude = Math.floor((u + t * v) / s);
    const negative = chance.below(2) === 1;
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
 * @param {Draw} chance
 * @returns {boolean}
 */
function flipExp(u, t, chance) {
  let k = 1;
  while (chance.below(t) < u && chance.below(k) === 0) k++;
  return k % 2 === 1;
}
