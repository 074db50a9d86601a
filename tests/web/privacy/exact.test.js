/** Compare exact arithmetic with slow and obvious versions of it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  asFraction,
  exactSum,
  floorLog2,
  powerOfTwo,
  roundHalfEven,
} from "../../../crowdml/web/privacy/exact.js";

test("floorLog2 at and around every power of two", () => {
  for (let k = -1073; k <= 1023; k++) {
    const power = 2 ** k;
    assert.equal(floorLog2(power), k);
    if (k > -1022) {
      assert.equal(floorLog2(power * (1 - 2 ** -53)), k - 1);
      assert.equal(floorLog2(power * (1 + 2 ** -52)), k);
      assert.equal(powerOfTwo(k), power);
    }
  }
});

test("asFraction gives the float back", () => {
  for (const v of [1, 0.1, 1 / 3, 1e-6, 1e6, 5e-324, 2 ** -1030 * 3, Number.MAX_VALUE]) {
    const { m, e } = asFraction(v);
    const [half, rest] = [Math.trunc(e / 2), e - Math.trunc(e / 2)];
    assert.equal(Number(m) * 2 ** half * 2 ** rest, v);
  }
});

test("ties go to even", () => {
  const values = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, 2 ** 52 + 1, -0.2];
  assert.deepEqual(values.map(roundHalfEven), [-2, -2, 0, 0, 2, 2, 0, 2 ** 52 + 1, 0]);
});

test("a sum is rounded once", () => {
  assert.equal(exactSum(new Array(10).fill(0.1)), 1);
  assert.equal(exactSum([1e16, 1, 1e-16]), 10000000000000002, "a tie that is none");
  assert.equal(exactSum([1e16, 1]), 1e16, "a tie goes to even");
  assert.equal(exactSum([1, 1e100, 1, -1e100]), 2);
  assert.equal(exactSum([]), 0);
  assert.equal(exactSum([1, Infinity]), Infinity);
  for (let round = 0; round < 200; round++) {
    const values = Array.from({ length: 30 }, () => Math.random() * 2 ** (60 * Math.random() - 40));
    // In units of 2⁻¹⁰⁰ the sum is an integer; a BigInt becomes the nearest double, ties to even.
    const units = values.map((v) => {
      const { m, e } = asFraction(v);
      return m << BigInt(e + 120);
    });
    assert.equal(exactSum(values), Number(units.reduce((a, b) => a + b)) * 2 ** -120);
  }
});
