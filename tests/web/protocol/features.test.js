/** Check readings by name, in their own units, and the errors for wrong names. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidSample, scaledFeatures, startPhrase, write } from "../../../crowdml/web/index.js";
import { FEATURES } from "../../../crowdml/web/protocol/features.js";

/** @import { Readings } from "../../../crowdml/web/types.js" */

const ROOM = { count: 3, names: ["humidity", "temperature", "length"], center: [45, 21, 2], scale: [12, 3, 1], length: 4 }; // prettier-ignore
const columns = FEATURES(ROOM, "features");
const lenient = FEATURES({ ...ROOM, missing: "center" }, "features");

test("by name in any order is the same as in the order of names", () => {
  const expected = Float64Array.of(1 / 4, 1 / 8, -1 / 4);
  const byName = { length: 1, temperature: 22.5, humidity: 57 };
  for (const readings of [byName, [57, 22.5, 1], Float64Array.of(57, 22.5, 1)]) {
    assert.deepEqual(scaledFeatures(columns, readings, 2), expected);
  }
});

test("a missing value is an error, or the center where the terms say so", () => {
  for (const temperature of [null, NaN]) {
    const readings = { humidity: 57, temperature, length: 1 };
    assert.throws(() => scaledFeatures(columns, readings, 2), /temperature must have a value, found none/);
    assert.deepEqual(scaledFeatures(lenient, readings, 2), Float64Array.of(1 / 4, 0, -1 / 4));
  }
});

/** @type {[any, RegExp][]} */
const WRONG = [
  [{ humidity: 1, length: 1, temprature: 1 }, /^temprature is not a column of this task.$/],
  [{ humidity: 1, length: 1 }, /^temperature is missing.$/],
  [{}, /^humidity is missing.$/],
  [{ humidity: 1, temperature: 1, length: 1, humidty: 1 }, /^humidty is not a column of this task.$/],
  [{ humidity: 1, temperature: "21.5", length: 1 }, /^temperature must be a finite number, found 21.5.$/],
  [{ humidity: 1, temperature: Infinity, length: 1 }, /^temperature must be a finite number, found Infinity.$/],
  [[1, 2], /^x must be 3 numbers, found 2.$/],
  [[1, true, 2], /^temperature must be a finite number, found true.$/],
  ["abc", /^x must be 3 numbers, found string.$/],
  [null, /^x must be 3 numbers, found object.$/],
];

for (const [readings, reason] of WRONG) {
  test(`not a sample: ${JSON.stringify(readings)}`, () => {
    for (const each of [columns, lenient]) {
      const rejected = (/** @type {unknown} */ error) =>
        error instanceof InvalidSample && reason.test(error.message);
      assert.throws(() => scaledFeatures(each, /** @type {Readings} */ (readings), 2), rejected);
    }
  });
}

test("where the model starts from is one sentence", () => {
  const start = { sha256: "0".repeat(64), rows: 200, people: 4, words: "our own rooms" };
  const said = (/** @type {object} */ changes) => write(startPhrase({ ...start, ...changes }));
  assert.equal(said({}), "The model starts from a pilot of 200 samples of 4 people (our own rooms).");
  assert.equal(said({ rows: 1, people: 1, words: "" }), "The model starts from a pilot of 1 sample of 1 person.");
  assert.equal(said({ rows: null }), "The model starts from one that was learnt before (our own rooms).");
  assert.equal(said({ rows: null, words: "" }), "The model starts from one that was learnt before.");
  assert.equal(said({ people: null }), "The model starts from a pilot of 200 samples (our own rooms).");
});
