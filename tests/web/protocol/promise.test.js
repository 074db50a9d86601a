/** Check promises beyond the vectors: in other languages, and for the participant's limits. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Terms, limitsOf, write } from "../../../crowdml/web/index.js";
import { translator } from "../../../crowdml/web/page/translate.js";
import { SENSOR, samplesPerReading } from "../../../crowdml/web/protocol/sensor.js";
import { vectors } from "../vectors.js";

const LAPLACE = JSON.parse(vectors("terms")[0]?.output.text);
const DIRECTION = vectors("terms")
  .map(({ output }) => JSON.parse(output.text))
  .find(({ privacy }) => privacy.mechanism === "direction");

/**
 * @param {number} epsilon Of each sample.
 * @param {object} [sensor]
 */
function laplace(epsilon, sensor) {
  const levels = { epsilon_g: epsilon / 2, epsilon_e: epsilon / 4, epsilon_y: epsilon / 4 };
  const privacy = { ...LAPLACE.privacy, epsilon, ...levels };
  const features = { ...LAPLACE.features, ...(sensor ? { count: 4, sensor } : {}) };
  return Terms.parse(JSON.stringify({ ...LAPLACE, privacy, features }));
}

test("a reading that is in several samples counts several times", () => {
  const often = { kind: "motion", transform: "summary", every: 1 };
  assert.equal(samplesPerReading(SENSOR({ kind: "motion" }, "sensor")), 1);
  assert.equal(samplesPerReading(SENSOR(often, "sensor")), 5);
  assert.equal(laplace(5).private, true);
  assert.equal(laplace(5, often).private, false);
  assert.equal(laplace(5, { ...often, trigger: "label-change" }).private, true);
  assert.equal(laplace(4, often).private, true);
});

test("limits are for the usual number of check-ins, unless it is said", () => {
  assert.deepEqual(limitsOf(laplace(0.5)), { perSample: 0.5, perDevice: 10 });
  assert.deepEqual(limitsOf(laplace(1.5)), { perSample: 1.5, perDevice: 19.5 });
  assert.deepEqual(limitsOf(laplace(0.5), 100), { perSample: 0.5, perDevice: 50 });
  // One check-in alone is above the largest private ε, so fewer check-ins do not help.
  assert.deepEqual(limitsOf(laplace(25)), { perSample: 25, perDevice: 500 });
  assert.deepEqual(limitsOf(laplace(25), 3), { perSample: 25, perDevice: 75 });
});

test("check-ins within a limit are counted with the slack of the ledger, up to K", () => {
  const terms = laplace(1);
  assert.equal(terms.checkinsWithin(7 * (1 - 1e-10)), 7);
  assert.equal(terms.checkinsWithin(7 * (1 - 1e-8)), 6);
  assert.equal(terms.checkinsWithin(Infinity), 1_000_000);
  const collection = { ...DIRECTION.collection, checkins: 4 };
  const few = Terms.parse(JSON.stringify({ ...DIRECTION, collection }));
  assert.deepEqual([few.mostCheckins, few.checkinsWithin(Infinity)], [4, 4]);
});

test("what is lost is read in its order", () => {
  const { whatIsLost, sentences } = laplace(0.5).promise(7);
  const names = ["epsilon", "loss", "single", "common"];
  assert.deepEqual(whatIsLost, names.map((name) => sentences[name]));
});

test("numbers are written by the language of the page", () => {
  const { epsilon, loss } = laplace(0.5).promise(12_345).sentences;
  assert.ok(epsilon);
  const german = new Map([
    [epsilon.template, "ε = {epsilon} bei {n} Nachrichten, ε = {single} für eine Probe."],
    ["{n} times in {of}", "{n} von {of} Malen"],
  ]);
  assert.equal(write(epsilon, translator(german, "de"), "de"), "ε = 6.173 bei 12.345 Nachrichten, ε = 0,5 für eine Probe.");
  assert.match(write(loss, translator(german, "de"), "de"), /practically certain/);
  assert.match(write(laplace(0.5).promise(20).sentences.loss, translator(german, "de"), "de"), /99\.996 von 100\.000 Malen/);
});
