/**
 * Make exact discrete Laplace and Gaussian noise from uniform integers, without random floats.
 *
 * Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, Algorithms 1–3.
 */

import { InvalidInput } from "../errors.js";
import { asFraction, ceilRatio, floorLog2, powerOfTwo } from "./exact.js";

/** @import { NoiseAmount, RandomIndex } from "../types.js" */

const PRECISION = 31;
const LARGEST = 2 ** 43;
const WORD = 2 ** 32;

/**
 * Return a scale t/s ≥ sensitivity/ε in whole numbers, s a power of two.
 *
 * ε is the fraction that the float is, and only the last step rounds: up, so towards more noise,
 * by less than one part in 2³¹.
 *
 * @param {NoiseAmount} amount
 */
export function laplaceScale({ sensitivity, level }) {
  const k = Math.max(0, PRECISION - floorLog2(sensitivity / level));
  const { m, e } = asFraction(level);
  const t = Number(ceilRatio(BigInt(sensitivity), k - e, m));
  requireScale(t, sensitivity, level);
  return { t, s: powerOfTwo(k) };
}

/**
 * Return a variance n/d ≥ sensitivity²/(2ρ) in whole numbers, d a power of two, also rounded up.
 *
 * @param {NoiseAmount} amount
 */
export function gaussianVariance({ sensitivity, level }) {
  const variance = sensitivity ** 2 / (2 * level);
  requireScale(Math.sqrt(variance), sensitivity, level);
  const k = Math.max(0, PRECISION - floorLog2(variance));
  const distance = asFraction(sensitivity);
  const { m, e } = asFraction(level);
  return { n: ceilRatio(distance.m ** 2n, k + 2 * distance.e - e - 1, m), d: 1n << BigInt(k) };
}

/** @type {(scale: number, sensitivity: number, level: number) => void} */
function requireScale(scale, sensitivity, level) {
  if (scale <= LARGEST) return;
  throw new InvalidInput(
    "a noise scale must be at most 2^43, found more for a change of {sensitivity} at {level}.",
    { sensitivity, level },
  );
}

/**
 * P(z) ∝ exp(−|z|·ε/sensitivity).
 *
 * @type {(values: readonly number[], amount: NoiseAmount, chance: RandomIndex) => number[]}
 */
export function addLaplace(values, amount, chance) {
  const { t, s } = laplaceScale(amount);
  return values.map((value) => value + laplace(t, s, chance));
}

/**
 * P(z) ∝ exp(−z²·ρ/sensitivity²).
 *
 * A Laplace number y of about the same width is kept with probability
 * exp(−(|y| − σ²/t)²/(2σ²)), which leaves y with probability ∝ exp(−y²/(2σ²)) for every t.
 *
 * @type {(values: readonly number[], amount: NoiseAmount, chance: RandomIndex) => number[]}
 */
export function addGaussian(values, amount, chance) {
  const { n, d } = gaussianVariance(amount);
  const t = Math.floor(Math.sqrt(Number(n) / Number(d))) + 1;
  const width = d * BigInt(t);
  const whole = 2n * n * width * BigInt(t);
  return values.map((value) => {
    for (;;) {
      const y = laplace(t, 1, chance);
      const off = BigInt(Math.abs(y)) * width - n;
      if (flipExpRatio(off * off, whole, chance)) return value + y;
    }
  });
}

/**
 * Draw z with P(z) ∝ exp(−|z|·s/t).
 *
 * u + t·v is exact below 2⁵³, for t < 2⁴³ that is for v < 1024; a larger v has a probability of
 * e^−1024.
 *
 * @type {(t: number, s: number, chance: RandomIndex) => number}
 */
function laplace(t, s, chance) {
  for (;;) {
    const u = chance.below(t);
    if (!flipExp(() => chance.below(t) < u, chance)) continue;
    let v = 0;
    while (flipExp(() => true, chance)) v++;
    const magnitude = Math.floor((u + t * v) / s);
    const negative = chance.below(2) === 1;
    // Zero has only one sign, or it would come up twice as often as it should.
    if (magnitude || !negative) return negative ? -magnitude : magnitude;
  }
}

/** @type {(a: bigint, b: bigint, chance: RandomIndex) => boolean} Has probability exp(−a/b), a ≥ 0. */
function flipExpRatio(a, b, chance) {
  for (let whole = a / b; whole > 0n; whole--) if (!flipExp(() => true, chance)) return false;
  const rest = a % b;
  return flipExp(() => flipRatio(rest, b, chance), chance);
}

/**
 * Return true with probability exp(−γ), for a `flip` that is true with probability γ.
 *
 * The k-th flip must succeed with probability γ/k, here as two flips with γ and 1/k.
 *
 * @type {(flip: () => boolean, chance: RandomIndex) => boolean}
 */
function flipExp(flip, chance) {
  let k = 1;
  while (flip() && chance.below(k) === 0) k++;
  return k % 2 === 1;
}

/**
 * Return true with probability a/b, for a < b: compare a random number with a/b in words of 32
 * bits, from the top, until a word decides.
 *
 * @type {(a: bigint, b: bigint, chance: RandomIndex) => boolean}
 */
export function flipRatio(a, b, chance) {
  for (;;) {
    const scaled = a << 32n;
    const digit = Number(scaled / b);
    const draw = chance.below(WORD);
    if (draw !== digit) return draw < digit;
    a = scaled % b;
  }
}
