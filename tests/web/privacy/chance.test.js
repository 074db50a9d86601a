/** Check uniform integers, made by rejection. Two of these tests are random. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput, chooseRows } from "../../../crowdml/web/index.js";
import { FALSE_ALARM, chiSquareP } from "../statistics.js";

/** @param {number[]} words */
function given(...words) {
  const source = words.values();
  return new Chance((buffer) => {
    buffer.forEach((_, i) => (buffer[i] = source.next().value ?? 0));
  });
}

test("a draw beyond the last whole multiple is thrown away", () => {
  // 2³² = 1431655765·3 + 1: the last word would make 0 a little more likely.
  assert.equal(given(2 ** 32 - 1, 5).below(3), 2);
  assert.equal(given(2 ** 32 - 2, 5).below(3), 2);
  assert.equal(given(2 ** 32 - 1).below(2 ** 32), 2 ** 32 - 1);
  // For 3·2³⁰ every fourth word is thrown away.
  assert.equal(given(3 * 2 ** 30, 2 ** 32 - 1, 3 * 2 ** 30 - 1).below(3 * 2 ** 30), 3 * 2 ** 30 - 1);
});

test("each remainder has the same number of words", () => {
  // 2³² words are too many to count; the multiples at both ends show the same.
  for (const n of [3, 5, 7, 1000, 2 ** 31 + 1]) {
    const fair = 2 ** 32 - (2 ** 32 % n);
    assert.equal(given(fair - 1, 0).below(n), n - 1, "the last word that counts");
    assert.equal(given(fair, 1).below(n), 1, "the first that does not");
    assert.equal(fair % n, 0);
  }
});

test("large bounds take 53 bits from two words", () => {
  assert.equal(given(1, 7).below(2 ** 53), 2 ** 32 + 7);
  assert.equal(given(2 ** 32 - 1, 2 ** 32 - 1).below(2 ** 53), 2 ** 53 - 1);
  const n = 2 ** 52 + 1;
  assert.equal(given(2 ** 20, 1, 0, 3).below(n), 3, "2⁵² + 1 is beyond the only multiple");
});

test("every word is used once and wiped", () => {
  /** @type {Uint32Array | undefined} */
  let seen;
  let fills = 0;
  const chance = new Chance((buffer) => {
    fills++;
    seen = buffer.fill(12345);
  });
  for (let i = 0; i < 1024; i++) chance.below(2 ** 32);
  assert.equal(fills, 1);
  assert.ok(seen?.every((word) => word === 0));
  chance.below(2);
  assert.equal(fills, 2);
});

test("bounds that are invalid", () => {
  for (const n of [0, -1, 1.5, NaN, 2 ** 53 + 2, Infinity]) {
    assert.throws(() => new Chance().below(n), InvalidInput);
  }
});

test("uniform from the real generator", () => {
  const chance = new Chance();
  const counts = new Array(600).fill(0);
  for (let i = 0; i < 300_000; i++) counts[chance.below(600)]++;
  assert.ok(chiSquareP(counts, counts.map(() => 1 / 600)) > FALSE_ALARM);
});

test("all choices of held-out samples are equally likely", () => {
  const chance = new Chance();
  const counts = new Map();
  for (let i = 0; i < 50_000; i++) {
    const choice = chooseRows(6, 3, chance).map(Number).join("");
    counts.set(choice, (counts.get(choice) ?? 0) + 1);
  }
  assert.equal(counts.size, 20);
  assert.ok(chiSquareP([...counts.values()], new Array(20).fill(1 / 20)) > FALSE_ALARM);
});

test("ids are 22 characters of the wire's alphabet, and differ", () => {
  const chance = new Chance();
  const ids = new Set(Array.from({ length: 100 }, () => chance.randomId()));
  assert.equal(ids.size, 100);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{22}$/);
});
