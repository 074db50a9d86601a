/** Terms that a device must not agree to, with the reason said. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  InvalidSample,
  InvalidTask,
  Terms,
  TermsChanged,
  boundFeatures,
  checkTarget,
  defaultLimits,
  readTerms,
} from "../../crowdml/web/index.js";
import { vectors } from "./vectors.js";

const TEXTS = vectors("terms").map(({ output }) => output.text);

/**
 * @param {number} which
 * @param {string} section
 * @param {Record<string, unknown>} changes undefined removes a field.
 */
function changed(which, section, changes) {
  const terms = JSON.parse(TEXTS[which]);
  Object.assign(section ? terms[section] : terms, changes);
  return JSON.stringify(terms);
}

/** @type {[string, Record<string, unknown>, RegExp][]} */
const WRONG = [
  ["", { secret: 1 }, /unknown field secret/],
  ["", { features: undefined }, /features must be a JSON object, found nothing/],
  ["", { sensors: 5 }, /sensors must be a text, found 5/],
  ["features", { cuont: 3 }, /features has the unknown field cuont/],
  ["features", { count: 0 }, /features.count must be a number 1 … 100000, found 0/],
  ["features", { count: 2.5 }, /whole number, found 2.5/],
  ["features", { count: "64" }, /features.count/],
  ["features", { sensor: { kind: "camera" } }, /one of light, manual/],
  ["features", { sensor: { kind: "light", transform: "summary" } }, /count must be 4/],
  ["features", { sensor: { kind: "motion", window: 32 } }, /at most 32/],
  ["features", { sensor: { kind: "manual", transform: "values" } }, /sensor.fields/],
  ["features", { sensor: { kind: "motion", transform: "values" } }, /sensor.transform/],
  ["target", { labels: ["one"] }, /target.labels/],
  ["target", { labels: ["a", "a"] }, /target.labels/],
  ["target", { labels: [] }, /target.labels must be there for classifiers and only for them, found 0 for softmax/],
  ["target", { labels: ["a", ""] }, /target.labels\[1\] must be 1 … 80/],
  ["model", { kind: "forest" }, /model.kind must be one of softmax/],
  ["model", { clip: 0 }, /model.clip/],
  ["model", { clip: undefined }, /model.clip .*found nothing/],
  ["model", { clip: null }, /model.clip/],
  ["model", { intercept: 1 }, /true or false/],
  ["model", { noise: "none" }, /unknown field noise/],
  ["privacy", { epsilon_g: 0 }, /epsilon for the gradient/],
  ["privacy", { epsilon_g: -1 }, /privacy.epsilon_g/],
  ["privacy", { epsilon_g: 1e-9 }, /epsilon for the gradient/],
  ["privacy", { epsilon_g: 2e6 }, /privacy.epsilon_g/],
  ["privacy", { epsilon_g: "Infinity" }, /privacy.epsilon_g/],
  ["privacy", { epsilon_e: undefined }, /privacy.epsilon_e/],
  ["privacy", { epsilon_g: 5 }, /at least what a check-in costs/],
  ["privacy", { epsilon_e: "inf" }, /at least what a check-in costs/],
  ["privacy", { epsilon_y: 0 }, /epsilon_y must be positive with labels/],
  ["privacy", { noise: false }, /unknown field noise/],
  ["collection", { batch: 0 }, /collection.batch/],
  ["collection", { buffer: 5 }, /collection.buffer must hold a batch of 20, found 5/],
  ["collection", { heldout: 0.6 }, /collection.heldout/],
];

for (const [section, changes, reason] of WRONG) {
  test(`${section} ${JSON.stringify(changes)}`, () => {
    assert.throws(
      () => Terms.parse(changed(0, section, changes)),
      (error) => error instanceof InvalidTask && reason.test(error.message),
    );
  });
}

test("texts that are no terms", () => {
  for (const text of ["", "{}", "[]", "null", "not JSON", '{"task": "activity"}', "1e400"]) {
    assert.throws(() => Terms.parse(text), /make no sense/);
  }
});

test("prototypes are no fields", () => {
  const text = TEXTS[0].replace('"task":', '"__proto__": {"task": "x"}, "task":');
  assert.throws(() => Terms.parse(text), /unknown field __proto__/);
});

test("what a check-in costs is computed", () => {
  const costs = TEXTS.map((text) => Terms.parse(text).epsilonPerSample);
  assert.ok(Math.abs((costs[0] ?? 0) - 1) < 1e-12);
  assert.equal(costs[2], Infinity);
  assert.deepEqual(TEXTS.map((text) => Terms.parse(text).private), [true, true, false, true, true]);
  const { perSample, perDevice } = defaultLimits(Terms.parse(TEXTS[0]));
  assert.equal(perDevice, 20 * perSample);
});

test("terms must carry the task's name and their own hash", async () => {
  const { output } = vectors("terms")[0] ?? { output: {} };
  const view = { name: "activity", title: "", objective: "", state: "running", version: 0,
    enrolment: "open", terms: output.text, terms_sha256: output.sha256 }; // prettier-ignore
  const typed = /** @type {import("../../crowdml/web/types.js").TaskView} */ (view);
  const { terms, termsSha256 } = await readTerms(typed, "activity");
  assert.deepEqual([terms.task, terms.text, termsSha256], ["activity", output.text, output.sha256]);
  await assert.rejects(readTerms(typed, "another"), TermsChanged);
  await assert.rejects(readTerms({ ...typed, terms: output.text + " " }, "activity"), TermsChanged);
});

test("samples that are none are refused", () => {
  const bad = [[1], [1, 2, 3], [1, NaN], [1, Infinity], ["1", 2], [true, 1], "ab", null, undefined, 7];
  for (const x of bad) {
    assert.throws(() => boundFeatures(/** @type {number[]} */ (x), 2), InvalidSample);
  }
  for (const y of [3, -1, 0.5, "1", true, null, NaN]) {
    assert.throws(() => checkTarget(y, 3), InvalidSample);
  }
  for (const y of [NaN, Infinity, 2e12, "1"]) assert.throws(() => checkTarget(y, 0), InvalidSample);
  assert.equal(checkTarget(-2.5, 0), -2.5);
});
