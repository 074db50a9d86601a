/** Round gradients to integers on a grid, before any noise is added. */

import { asFraction, ceilRatio, floorLog2, powerOfTwo, roundHalfEven } from "./exact.js";

/** The wanted noise scale in steps: so fine that rounding costs almost nothing. */
const NOISE_STEPS = 2 ** 20;

/** The largest integer without noise, a quarter of the range of int32: the rest is for noise. */
const LARGEST_NOISELESS = 2 ** 29;

/**
 * Return the exponent k of the step q = 2^k.
 *
 * The server checks the choice for equality, so the order of the operations matters.
 *
 * @param {number} clip S, the bound on ‖g_i‖.
 * @param {number} largest The largest possible |g̃_j|, regularization included.
 * @param {number} n Samples behind the average.
 * @param {number} epsilon ε_g, or √(2ρ) for Gaussian noise.
 */
export function chooseGrid(clip, largest, n, epsilon) {
  const fits = floorLog2(largest / LARGEST_NOISELESS) + 1;
  if (epsilon === Infinity) return fits;
  return Math.max(fits, floorLog2((2 * clip) / (n * epsilon * NOISE_STEPS)));
}

/**
 * Return ⌈2S/(nq)⌉ + rounding: how many steps one replaced sample can move the rounded average.
 *
 * The average moves by at most 2S/n; rounding can add one step for each of d numbers, which is d
 * in L1 and ⌈√d⌉ in L2.
 *
 * @param {number} clip S.
 * @param {number} n
 * @param {number} grid
 * @param {number} rounding
 */
export function sensitivitySteps(clip, n, grid, rounding) {
  const { m, e } = asFraction(clip);
  return Number(ceilRatio(m, e + 1 - grid, BigInt(n))) + rounding;
}

/** @type {(g: ArrayLike<number>, grid: number) => number[]} round(g/2^grid), ties to even. */
export function quantize(g, grid) {
  const steps = powerOfTwo(-grid);
  return Array.from(g, (value) => roundHalfEven(value * steps));
}
