/** Check the choice of one number of k: its probabilities and its ε, in exact arithmetic. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput } from "../../../crowdml/web/index.js";
import { Choice } from "../../../crowdml/web/privacy/choice.js";
import { asFraction } from "../../../crowdml/web/privacy/exact.js";
import { FALSE_ALARM, chiSquareP } from "../statistics.js";
import { GivenChance } from "../vectors.js";

const COIN = 2n ** 64n;
const ONE = 2n ** 240n;

/**
 * Just below e^ε in units of 2⁻²⁴⁰: the first terms of its series, each rounded down.
 *
 * @param {number} epsilon
 */
function belowExp(epsilon) {
  const { m, e } = asFraction(epsilon);
  let [term, sum] = [ONE, 0n];
  for (let n = 1n; term > 0n; n++) {
    sum += term;
    term = (term * m * 2n ** BigInt(Math.max(e, 0))) / (n * 2n ** BigInt(Math.max(-e, 0)));
  }
  return sum;
}

test("the true loss is never above the claim, and hardly below it", () => {
  assert.equal(Number(belowExp(1)) / Number(ONE), Math.E);
  for (let round = 0; round < 2000; round++) {
    const k = 2 + Math.floor(Math.random() * 4095);
    const t = 1 + Math.floor(Math.random() * (k - 1));
    const epsilon = round % 2 ? 40 * Math.random() : 10 ** (-6 + 7.6 * Math.random());
    const { coin } = new Choice(k, t, epsilon);
    assert.ok(coin > 0n && coin < COIN);
    // p(k − t)/((1 − p)t) against e^ε, in integers.
    const ratio = coin * BigInt(k - t) * ONE;
    const claim = belowExp(epsilon) * (COIN - coin) * BigInt(t);
    assert.ok(ratio <= claim, `k = ${k}, t = ${t}, ε = ${epsilon} costs more`);
    const wasted = Number(((claim - ratio) * 2n ** 80n) / claim) / 2 ** 80;
    assert.ok(wasted <= Math.max(1e-13, 2 ** -60 * k * Math.exp(epsilon)), `wastes ${wasted}`);
  }
});

test("the best and the others", () => {
  const choice = new Choice(5, 2, 1);
  const order = [3, 1, 4, 0, 2];
  const makePayload = (/** @type {bigint} */ draw, /** @type {number} */ pick) =>
    choice.choose(order, new GivenChance({}, [String(draw), pick]));
  assert.deepEqual([0, 1].map((i) => makePayload(choice.coin - 1n, i)), [3, 1]);
  assert.deepEqual([0, 1, 2].map((i) => makePayload(choice.coin, i)), [4, 0, 2]);
  assert.throws(() => makePayload(0n, 2), RangeError);
  assert.throws(() => makePayload(COIN - 1n, 3), RangeError);
});

test("what cannot be chosen", () => {
  for (const [k, t, epsilon] of /** @type {const} */ ([
    [5, 0, 1], [5, 5, 1], [1, 1, 1], [5, 1.5, 1], [5, 1, 0], [5, 1, -1], [5, 1, 41], [5, 1, NaN],
    [5, 1, Infinity],
  ])) { // prettier-ignore
    assert.throws(() => new Choice(k, t, epsilon), InvalidInput);
  }
});

test("every number comes up as often as it should", () => {
  const choice = new Choice(12, 3, 1.3);
  const order = [7, 0, 11, 1, 2, 3, 4, 5, 6, 8, 9, 10];
  const chance = new Chance();
  const counts = order.map(() => 0);
  for (let i = 0; i < 200_000; i++) {
    const payload = choice.choose(order, chance);
    counts[payload] = (counts[payload] ?? 0) + 1;
  }
  const odds = counts.map((_, j) => choice.odds(Number(order.indexOf(j) < 3)).chance);
  assert.ok(chiSquareP(counts, odds) > FALSE_ALARM);
  assert.ok(Math.abs((odds[7] ?? 0) / (odds[1] ?? 0) / Math.exp(1.3) - 1) < 1e-12);
});
