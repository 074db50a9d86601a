/**
 * The noise law. Each chi-square test raises a false alarm with probability 1e-7; there are seven
 * of them here and in chance.test.js, so less than 1e-6 in all.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput, laplaceScale } from "../../crowdml/web/index.js";
import { chiSquareP } from "./statistics.js";

const FALSE_ALARM = 1e-7;

/**
 * @param {number} n
 * @param {{sensitivity: number, epsilon: number}} level
 */
function draw(n, level) {
  return new Chance().addLaplace(new Array(n).fill(0), level);
}

/**
 * P(z ≤ k) of the discrete Laplace law, in closed form.
 *
 * @param {number} k
 * @param {number} scale
 */
function cumulative(k, scale) {
  const rest = 1 + Math.exp(-1 / scale);
  return k < 0 ? Math.exp(k / scale) / rest : 1 - Math.exp(-(k + 1) / scale) / rest;
}

/**
 * The p-value of samples in bins of `width` integers, the last ones on each side open.
 *
 * @param {readonly number[]} samples
 * @param {number} scale
 * @param {number} width
 * @param {number} bins On each side of the one around 0.
 */
function lawP(samples, scale, width, bins) {
  const edges = Array.from({ length: 2 * bins }, (_, i) => Math.floor((i - bins + 0.5) * width));
  const below = [0, ...edges.map((edge) => cumulative(edge, scale)), 1];
  const probabilities = below.slice(1).map((p, i) => p - (below[i] ?? 0));
  const counts = probabilities.map(() => 0);
  for (const z of samples) {
    const bin = edges.findIndex((edge) => z <= edge);
    const i = bin < 0 ? edges.length : bin;
    counts[i] = (counts[i] ?? 0) + 1;
  }
  return chiSquareP(counts, probabilities);
}

/** @type {[{sensitivity: number, epsilon: number}, number, number][]} */
const CASES = [
  [{ sensitivity: 1, epsilon: 2 }, 1, 4],
  [{ sensitivity: 2, epsilon: 2 / 3.7 }, 1, 20],
  [{ sensitivity: 1, epsilon: 0.05 }, 1, 100],
  [{ sensitivity: 1678222, epsilon: 0.9 }, 100_003, 60],
  [{ sensitivity: 2 ** 40, epsilon: 1 }, 2 ** 37, 30],
];

for (const [level, width, bins] of CASES) {
  const scale = level.sensitivity / level.epsilon;
  test(`P(z) ∝ exp(−|z|/${scale})`, () => {
    assert.ok(lawP(draw(100_000, level), scale, width, bins) > FALSE_ALARM);
  });
}

test("the test can tell a scale that is off by 10 %", () => {
  const samples = draw(100_000, { sensitivity: 1, epsilon: 0.05 });
  assert.ok(lawP(samples, 20 * 1.1, 10, 8) < FALSE_ALARM);
});

test("almost no noise at a huge epsilon, and never −0", () => {
  const noisy = draw(1000, { sensitivity: 1, epsilon: 1e6 });
  assert.ok(noisy.every((z) => Object.is(z, 0)));
});

test("the scale is never below sensitivity/ε, and hardly above it", () => {
  for (const sensitivity of [1, 2, 7, 1678222, 2 ** 22 - 1]) {
    for (const epsilon of [1e-6, 0.05, 0.1, 0.9, 1, 1 / 3, 2.5, 7e4, 1e6]) {
      const { t, s } = laplaceScale({ sensitivity, epsilon });
      assert.ok(Number.isSafeInteger(t) && Number.isSafeInteger(s) && t > 0);
      assert.ok(Number.isInteger(Math.log2(s)));
      // t/s ≥ sensitivity/ε, in integers: in units of 2⁻⁸⁰ each of these ε is one.
      const covered = BigInt(t) * BigInt(epsilon * 2 ** 80);
      const excess = covered - BigInt(sensitivity) * BigInt(s) * 2n ** 80n;
      assert.ok(excess >= 0n, `${sensitivity}/${epsilon} is more than ${t}/${s}`);
      assert.ok(excess * 2n ** 20n <= covered, "an excess of at most 2^-20");
    }
  }
  assert.throws(() => laplaceScale({ sensitivity: 2 ** 40, epsilon: 1e-6 }), InvalidInput);
});
