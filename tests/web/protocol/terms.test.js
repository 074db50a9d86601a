/** Check the terms that a device must not agree to, and the reasons that it gives. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  InvalidSample,
  InvalidTask,
  Terms,
  TermsChanged,
  boundFeatures,
  checkTarget,
  limitsOf,
  readTerms,
} from "../../../crowdml/web/index.js";
import { vectors } from "../vectors.js";

const TEXTS = vectors("terms").map(({ output }) => output.text);
const LAPLACE = 0;
const NUMBERS = 1;
const [DIRECTION, GAUSSIAN] = /** @type {[number, number]} */ (
  ["direction", "gaussian"].map((name) =>
    TEXTS.findIndex((text) => JSON.parse(text).privacy.mechanism === name),
  )
);

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

const START = { sha256: "0".repeat(64), rows: 200, people: 4, words: "" };

/** @type {[string, Record<string, unknown>, RegExp, number?][]} */
const WRONG = [
  ["", { secret: 1 }, /unknown field secret/],
  ["", { features: undefined }, /features must be a JSON object, found nothing/],
  ["", { owner: "" }, /owner must be 1 … 200 characters long, found ""/],
  ["", { purpose: undefined }, /purpose must be a text, found nothing/],
  ["", { sensors: 5 }, /sensors must be a text, found 5/],
  ["features", { cuont: 3 }, /features has the unknown field cuont/],
  ["features", { count: 0 }, /features.count must be a number 1 … 100,000, found 0/],
  ["features", { count: 2.5 }, /whole number, found 2.5/],
  ["features", { sensor: { kind: "camera" } }, /one of light, manual/],
  ["features", { sensor: { kind: "light", transform: "summary" } }, /count must be 4/],
  ["features", { sensor: { kind: "motion", window: 32 } }, /at most 32/],
  ["features", { sensor: { kind: "manual", transform: "values" } }, /sensor.fields/],
  ["features", { sensor: { kind: "motion", transform: "values" } }, /sensor.transform/],
  ["features", { names: ["a", "b"] }, /features.names must be 64 entries, one for each feature, found 2/],
  ["features", { count: 2, names: ["a", "a"] }, /features.names must be names that differ/],
  ["features", { count: 2, names: ["a", " b"] }, /features.names must be names that differ/],
  ["features", { count: 2, names: ["a", ""] }, /features.names\[1\] must be 1 … 80 characters/],
  ["features", { count: 4, names: ["a", "b", "c", "d"], sensor: { kind: "light", transform: "summary" } },
    /features.names must be left out where there is a sensor/],
  ["features", { center: [0] }, /features.center must be 64 entries/],
  ["features", { count: 1, center: [2e15] }, /features.center\[0\] must be a number -1,000,000,000,000,000 … /],
  ["features", { count: 1, center: [null] }, /features.center\[0\] must be a number/],
  ["features", { scale: [1, 2, 3] }, /features.scale must be 64 entries/],
  ["features", { count: 1, scale: [0] }, /features.scale\[0\] must be a number 1e-9 … 1,000,000,000, found 0/],
  ["features", { length: 0 }, /features.length/],
  ["features", { missing: "mean" }, /features.missing must be one of reject, center/],
  ["features", { missing: "center" }, /features.missing must be reject where there is no features.center/],
  ["model", { start: { rows: 200, people: 4, words: "" } }, /model.start.sha256 must be 64 lower-case/],
  ["model", { start: { ...START, sha256: "A".repeat(64) } }, /model.start.sha256/],
  ["model", { start: { ...START, rows: 0 } }, /model.start.rows/],
  ["model", { start: { ...START, people: 0 } }, /model.start.people/],
  ["model", { start: { ...START, words: 7 } }, /model.start.words must be a text/],
  ["model", { start: { ...START, w: "AAAA" } }, /model.start has the unknown field w/],
  ["target", { labels: ["one"] }, /target.labels/],
  ["target", { labels: ["a", "a"] }, /target.labels/],
  ["target", { labels: [] }, /target.labels must be given for classifiers and only for them, found \[\]/],
  ["target", { labels: ["a", ""] }, /target.labels\[1\] must be 1 … 80/],
  ["model", { kind: "forest" }, /model.kind must be one of softmax/],
  ["model", { clip: 0 }, /model.clip/],
  ["model", { clip: "none" }, /model.clip/],
  ["model", { kind: "ridge", clip: null }, /model.clip must be given/, NUMBERS],
  ["model", { intercept: 1 }, /true or false/],
  ["model", { noise: "none" }, /unknown field noise/],
  ["privacy", { mechanism: undefined }, /privacy.mechanism must be one of direction, gaussian, lap/],
  ["privacy", { mechanism: "toString" }, /privacy.mechanism must be one of/],
  ["privacy", { mechanism: "gaussian" }, /privacy.delta must be a number/],
  ["privacy", { mechanism: "direction" }, /privacy.directions must be a number/],
  ["privacy", { epsilon_g: 1e-10 }, /privacy.epsilon_g/],
  ["privacy", { epsilon_g: 2e6 }, /privacy.epsilon_g/],
  ["privacy", { epsilon_g: "Infinity" }, /privacy.epsilon_g/],
  ["privacy", { epsilon_e: undefined }, /privacy.epsilon_e/],
  ["privacy", { epsilon_g: 5 }, /at least what a check-in costs/],
  ["privacy", { epsilon_e: "inf" }, /at least what a check-in costs/],
  ["privacy", { epsilon_y: 0 }, /labels must be positive with labels and 0 without/],
  ["privacy", { epsilon_y: 1e-12 }, /privacy.epsilon_y/],
  ["privacy", { epsilon_y: 0.1 }, /labels must be positive with labels and 0 without/, NUMBERS],
  ["privacy", { noise: false }, /unknown field noise/],
  ["privacy", { delta: 1e-6 }, /unknown field delta/],
  ["privacy", { delta: 0 }, /privacy.delta/, GAUSSIAN],
  ["privacy", { delta: 0.02 }, /privacy.delta/, GAUSSIAN],
  ["privacy", { delta: 1e-15 }, /at least what a check-in costs/, GAUSSIAN],
  ["privacy", { rho_g: 1e-10 }, /privacy.rho_g/, GAUSSIAN],
  ["privacy", { rho_y: 2e6 }, /privacy.rho_y/, GAUSSIAN],
  ["privacy", { rho_g: 0.03 }, /at least what a check-in costs/, GAUSSIAN],
  ["privacy", { rho_e: "inf" }, /at least what a check-in costs/, GAUSSIAN],
  ["privacy", { rho_y: 0 }, /labels must be positive with labels/, GAUSSIAN],
  ["privacy", { epsilon_g: 0.1 }, /unknown field epsilon_g/, GAUSSIAN],
  ["privacy", { epsilon: "inf" }, /privacy.epsilon/, DIRECTION],
  ["privacy", { epsilon: 41 }, /ε of a check-in must be above 0 and at most 40, found 41/, DIRECTION],
  ["privacy", { directions: 1 }, /privacy.directions/, DIRECTION],
  ["privacy", { directions: 5000 }, /privacy.directions/, DIRECTION],
  ["privacy", { directions: 67 }, /t must be a number 1 … 66, found 67/, DIRECTION],
  ["privacy", { closest: 0 }, /privacy.closest/, DIRECTION],
  ["privacy", { delta: 1e-6 }, /unknown field delta/, DIRECTION],
  ["collection", { checkins: null }, /collection.checkins must be given/, DIRECTION],
  ["collection", { checkins: 0 }, /collection.checkins/, DIRECTION],
  ["collection", { checkins: 1.5 }, /collection.checkins/, DIRECTION],
  ["collection", { evaluators: 0.95 }, /collection.evaluators/, DIRECTION],
  ["collection", { evaluators: -0.1 }, /collection.evaluators/, DIRECTION],
  ["collection", { counters: 0.95 }, /collection.counters/, DIRECTION],
  ["collection", { counters: -0.1 }, /collection.counters/, DIRECTION],
  ["collection", { evaluators: 0.5, counters: 0.5 }, /evaluators \+ counters must be at most 0.9, found 1/, DIRECTION],
  ["", { collection: { batch: 20, buffer: 200, checkins: 1, counters: 0.05 }, target: {}, model: { kind: "huber" } }, /collection.counters must be 0 without labels, found 0.05/, DIRECTION],
  ["collection", { counters: 0.05 }, /collection.counters must be 0 for this mechanism/],
  ["collection", { heldout: 0.2 }, /collection.heldout must be 0 for this mechanism/, DIRECTION],
  ["collection", { evaluators: 0.2 }, /collection.evaluators must be 0 for this mechanism/],
  ["target", { scale: 0 }, /target.scale/, DIRECTION],
  ["target", { scale: "large" }, /target.scale/],
  ["collection", { batch: 0 }, /collection.batch/],
  ["collection", { buffer: 5 }, /collection.buffer must be at least 20, like collection.batch, found 5/],
  ["collection", { heldout: 0.6 }, /collection.heldout/],
];

for (const [section, changes, reason, which = LAPLACE] of WRONG) {
  test(`${which} ${section} ${JSON.stringify(changes)}`, () => {
    assert.throws(
      () => Terms.parse(changed(which, section, changes)),
      (error) => error instanceof InvalidTask && reason.test(error.message),
    );
  });
}

test("texts that are not terms", () => {
  for (const text of ["", "{}", "[]", "null", "not JSON", '{"task": "activity"}', "1e400"]) {
    assert.throws(() => Terms.parse(text), /make no sense/);
  }
});

test("prototypes are not fields", () => {
  const text = TEXTS[0].replace('"task":', '"__proto__": {"task": "x"}, "task":');
  assert.throws(() => Terms.parse(text), /unknown field __proto__/);
});

test("what a check-in costs is computed", () => {
  const all = TEXTS.map((text) => Terms.parse(text));
  const costs = all.map((terms) => Number(terms.loss.total.toPrecision(9)));
  const large = [1, 4, 4, 4];
  assert.deepEqual(costs, [1, 2.5, Infinity, 1, 1, 1, 1, 4, 1.625, 2.5, 1, Infinity, 2.5, ...large]);
  const inAll = all.map((terms) => terms.promise().epsilonPerPerson);
  assert.deepEqual(inAll.filter((epsilon) => epsilon !== null), [4, 6.5, 2.5, 4, 4, 4]);
  assert.deepEqual(all.map((terms) => terms.private), costs.map((cost) => cost < Infinity));
});

test("an ε that protects nobody counts as not private", () => {
  for (const [epsilon, holds] of /** @type {[number, boolean][]} */ ([[20, true], [20.5, false]])) {
    assert.equal(Terms.parse(changed(DIRECTION, "privacy", { epsilon })).private, holds);
  }
  const loud = { epsilon: 100, epsilon_g: 90 };
  assert.equal(Terms.parse(changed(LAPLACE, "privacy", loud)).private, false);
});

test("check-ins with Gaussian noise cost less together than one by one", () => {
  const laplace = Terms.parse(TEXTS[LAPLACE]);
  const direction = Terms.parse(TEXTS[DIRECTION]);
  const gaussian = Terms.parse(TEXTS[GAUSSIAN]);
  assert.deepEqual(limitsOf(direction), { perSample: 4, perDevice: 4 });
  const { perSample, perDevice } = limitsOf(laplace);
  assert.equal(perDevice, 20 * perSample);
  const limits = limitsOf(gaussian);
  assert.ok(limits.perDevice > 5 * limits.perSample && limits.perDevice < 6 * limits.perSample);
  for (const terms of [laplace, direction, gaussian]) {
    for (const n of [1, 2, 7, 20, 1000]) {
      assert.equal(terms.checkinsWithin(terms.loss.times(n).total), Math.min(n, terms.mostCheckins));
    }
    assert.equal(terms.checkinsWithin(terms.loss.total * 0.99), 0);
  }
});

test("terms must carry the task's name and their own hash", async () => {
  const { output } = vectors("terms")[0] ?? { output: {} };
  const view = { name: "activity", title: "", objective: "", state: "running", version: 0,
    enrolment: "open", terms: output.text, terms_sha256: output.sha256 }; // prettier-ignore
  const typed = /** @type {import("../../../crowdml/web/types.js").TaskView} */ (view);
  const { terms, termsSha256 } = await readTerms(typed, "activity");
  assert.deepEqual([terms.task, terms.text, termsSha256], ["activity", output.text, output.sha256]);
  await assert.rejects(readTerms(typed, "another"), TermsChanged);
  await assert.rejects(readTerms({ ...typed, terms: output.text + " " }, "activity"), TermsChanged);
});

test("values that are not samples are rejected", () => {
  const bad = [[1], [1, 2, 3], [1, NaN], [1, Infinity], ["1", 2], [true, 1], "ab", null, undefined, 7];
  for (const x of bad) {
    assert.throws(() => boundFeatures(/** @type {number[]} */ (x), 2, 1), InvalidSample);
  }
  for (const y of [3, -1, 0.5, "1", true, null, NaN]) {
    assert.throws(() => checkTarget(y, 3), InvalidSample);
  }
  for (const y of [NaN, Infinity, 2e12, "1"]) assert.throws(() => checkTarget(y, 0), InvalidSample);
  assert.equal(checkTarget(-2.5, 0), -2.5);
});
