/** Check the laws of noise. Each chi-square test is random. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput } from "../../../crowdml/web/index.js";
import { asFraction } from "../../../crowdml/web/privacy/exact.js";
import { flipRatio, gaussianVariance, laplaceScale } from "../../../crowdml/web/privacy/noise_sampling.js";
import { FALSE_ALARM, chiSquareP } from "../statistics.js";

const N = 100_000;

/**
 * P(z ≤ k) of the discrete Laplace law, in closed form.
 *
 * @param {number} k
 * @param {number} scale
 */
function laplaceBelow(k, scale) {
  const rest = 1 + Math.exp(-1 / scale);
  return k < 0 ? Math.exp(k / scale) / rest : 1 - Math.exp(-(k + 1) / scale) / rest;
}

/**
 * P(z ≤ k) of the discrete Gaussian law, term by term; for wide ones the integral up to k + ½ by
 * the trapezoidal rule, which is as good then.
 *
 * @param {number} k
 * @param {number} scale
 */
function gaussianBelow(k, scale) {
  const far = Math.ceil(12 * scale);
  const step = Math.max(1, Math.floor(scale / 2000));
  let [below, all] = [0, 0];
  for (let z = -far; z <= far; z += step) {
    const p = Math.exp((-z * z) / (2 * scale * scale));
    all += p;
    if (z <= k) below += p * Math.min(1, (k + 0.5 - (z - step / 2)) / step);
  }
  return below / all;
}

/**
 * The p-value of samples in bins of `width` integers, the last ones on each side open.
 *
 * @param {readonly number[]} samples
 * @param {(k: number) => number} cumulative
 * @param {number} width
 * @param {number} bins On each side of the one around 0.
 */
function lawP(samples, cumulative, width, bins) {
  const edges = Array.from({ length: 2 * bins }, (_, i) => Math.floor((i - bins + 0.5) * width));
  const below = [0, ...edges.map(cumulative), 1];
  const probabilities = below.slice(1).map((p, i) => p - (below[i] ?? 0));
  const counts = probabilities.map(() => 0);
  for (const z of samples) {
    const bin = edges.findIndex((edge) => z <= edge);
    const i = bin < 0 ? edges.length : bin;
    counts[i] = (counts[i] ?? 0) + 1;
  }
  return chiSquareP(counts, probabilities);
}

/** @type {[number, number, number, number][]} Sensitivity, ε, width and number of bins. */
const LAPLACE = [
  [1, 2, 1, 4],
  [2, 2 / 3.7, 1, 20],
  [1, 0.05, 1, 100],
  [1678222, 0.9, 100_003, 60],
  [2 ** 40, 1, 2 ** 37, 30],
];

for (const [sensitivity, level, width, bins] of LAPLACE) {
  const scale = sensitivity / level;
  test(`P(z) ∝ exp(−|z|/${scale})`, () => {
    const samples = new Chance().addLaplace(new Array(N).fill(0), { sensitivity, level });
    assert.ok(lawP(samples, (k) => laplaceBelow(k, scale), width, bins) > FALSE_ALARM);
  });
}

/** @type {[number, number, number, number][]} Sensitivity, ρ, width and number of bins. */
const GAUSSIAN = [
  [1, 8, 1, 1],
  [Math.SQRT2, 1 / 3.7, 1, 4],
  [1, 0.005, 1, 25],
  [593188, 0.08, 200_003, 20],
  [2 ** 35, 0.5, 2 ** 33, 11],
];

for (const [sensitivity, level, width, bins] of GAUSSIAN) {
  const scale = sensitivity / Math.sqrt(2 * level);
  test(`P(z) ∝ exp(−z²/(2·${scale}²))`, () => {
    const samples = new Chance().addGaussian(new Array(N).fill(0), { sensitivity, level });
    assert.ok(lawP(samples, (k) => gaussianBelow(k, scale), width, bins) > FALSE_ALARM);
  });
}

test("the test can find a scale that is off by 10 %", () => {
  const laplace = new Chance().addLaplace(new Array(N).fill(0), { sensitivity: 1, level: 0.05 });
  assert.ok(lawP(laplace, (k) => laplaceBelow(k, 20 * 1.1), 10, 8) < FALSE_ALARM);
  const gaussian = new Chance().addGaussian(new Array(N).fill(0), { sensitivity: 1, level: 0.005 });
  assert.ok(lawP(gaussian, (k) => gaussianBelow(k, 10 * 1.05), 4, 6) < FALSE_ALARM);
});

test("values are what the noise is added to", () => {
  const amount = { sensitivity: 1, level: 1e6 };
  assert.deepEqual(new Chance().addLaplace([3, -4], amount), [3, -4]);
  assert.deepEqual(new Chance().addGaussian([3, -4], amount), [3, -4]);
});

test("almost no noise at a huge level, and never −0", () => {
  const zeros = new Array(1000).fill(0);
  const amount = { sensitivity: 1, level: 1e6 };
  const chance = new Chance();
  for (const noisy of [chance.addLaplace(zeros, amount), chance.addGaussian(zeros, amount)]) {
    assert.ok(noisy.every((z) => Object.is(z, 0)));
  }
});

const LEVELS = [1e-6, 0.05, 0.1, 0.9, 1, 1 / 3, 2.5, 7e4, 1e6];

test("the scale is never below sensitivity/ε, and hardly above it", () => {
  for (const sensitivity of [1, 2, 7, 1678222, 2 ** 22 - 1]) {
    for (const level of LEVELS) {
      const { t, s } = laplaceScale({ sensitivity, level });
      assert.ok(Number.isSafeInteger(t) && Number.isSafeInteger(s) && t > 0);
      assert.ok(Number.isInteger(Math.log2(s)));
      // t/s ≥ sensitivity/ε, in integers: in units of 2⁻⁸⁰ each of these ε is one.
      const covered = BigInt(t) * BigInt(level * 2 ** 80);
      justAbove(covered, BigInt(sensitivity) * BigInt(s) * 2n ** 80n);
    }
  }
  assert.throws(() => laplaceScale({ sensitivity: 2 ** 40, level: 1e-6 }), InvalidInput);
});

test("the variance is never below sensitivity²/(2ρ), and hardly above it", () => {
  for (const sensitivity of [1, Math.SQRT2, 7, 593188, 2 ** 22 - 1]) {
    for (const level of LEVELS) {
      const { n, d } = gaussianVariance({ sensitivity, level });
      const { m, e } = asFraction(sensitivity);
      const squared = m * m * 2n ** BigInt(2 * e + 104);
      justAbove(2n * n * BigInt(level * 2 ** 80) * 2n ** 24n, squared * d);
    }
  }
  assert.throws(() => gaussianVariance({ sensitivity: 2 ** 42, level: 1e-6 }), InvalidInput);
});

/**
 * @param {bigint} covered
 * @param {bigint} needed
 */
function justAbove(covered, needed) {
  assert.ok(covered >= needed);
  assert.ok((covered - needed) * 2n ** 20n <= covered, "an excess of at most 2^-20");
}

test("a fraction is compared to its last bit", () => {
  const seventh = [0x24924924, 0x92492492, 0x49249249];
  const flips = (/** @type {number[]} */ ...words) => {
    const given = words.values();
    return flipRatio(1n, 7n, { below: () => given.next().value ?? NaN });
  };
  seventh.forEach((word, i) => {
    assert.equal(flips(...seventh.slice(0, i), word - 1), true);
    assert.equal(flips(...seventh.slice(0, i), word + 1), false);
  });
});
