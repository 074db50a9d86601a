/** Every vector that the Python package wrote is reproduced. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import {
  Agreement,
  LimitReached,
  Ledger,
  MODELS,
  Sanitizer,
  Sensing,
  Terms,
  boundFeatures,
  chooseGrid,
  decodeParameters,
  encodeGradient,
  laplaceScale,
  perSample,
  quantize,
  sensitivitySteps,
  termsHash,
} from "../../crowdml/web/index.js";
import { SENSOR } from "../../crowdml/web/sensor.js";
import { GivenChance, asNumber, vectors } from "./vectors.js";

/** @type {Record<string, (input: any, output: any) => void | Promise<void>>} */
const CHECKS = { checkins, checkouts, features, gradients, grid, ledger, letters, quantisation,
  sanitised, sensing, sensitivity, terms }; // prettier-ignore

for (const [name, check] of Object.entries(CHECKS)) {
  vectors(name).forEach(({ input, output }, i) => {
    test(`${name}-${i}`, () => check(input, output));
  });
}

test("no vector is left out", () => {
  const files = readdirSync(new URL("../vectors", import.meta.url));
  const names = files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -5));
  assert.deepEqual(names.sort(), Object.keys(CHECKS).sort());
});

test("every kind of model has vectors", () => {
  const kinds = new Set(vectors("gradients").map(({ input }) => input.kind));
  assert.deepEqual([...kinds].sort(), Object.keys(MODELS).sort());
});

/** @param {any} input @param {any} output */
function grid({ clip, largest, n, epsilon }, output) {
  assert.equal(chooseGrid(clip, largest, n, asNumber(epsilon)), output.grid);
}

/** @param {any} input @param {any} output */
function sensitivity({ clip, n, grid, size }, output) {
  assert.equal(sensitivitySteps(clip, n, grid, size), output.steps);
}

/** @param {any} input @param {any} output */
function quantisation({ values, grid }, output) {
  assert.deepEqual(quantize(values, grid), output.integers);
}

/** @param {any} input @param {any} output */
function features({ x }, output) {
  assert.deepEqual(Array.from(boundFeatures(x, x.length)), output.bounded);
}

/** @param {any} input @param {any} output */
function gradients(input, output) {
  const kind = /** @type {keyof typeof MODELS} */ (input.kind);
  const model = MODELS[kind].make(input, input.n_features, input.n_classes);
  const w = Float64Array.from(input.w);
  const x = input.x.map((/** @type {number[]} */ row) => Float64Array.from(row));
  x.forEach((/** @type {Float64Array} */ row, /** @type {number} */ i) => {
    assert.equal(model.predict(w, row), output.predictions[i]);
    assert.equal(model.isMistake(w, row, input.y[i]), output.mistakes[i]);
    close(model.meanGradient(w, [row], [input.y[i]], 1e9), output.gradients[i]);
  });
  close(model.meanGradient(w, x, input.y, input.clip), output.mean);
}

/** @param {any} input @param {any} output */
function sanitised(input, output) {
  const sanitizer = new Sanitizer({
    epsilon: {
      gradient: asNumber(input.epsilon.gradient),
      errors: asNumber(input.epsilon.errors),
      labels: asNumber(input.epsilon.labels),
    },
    clip: input.clip,
    size: input.g.length,
    regularization: input.regularization,
    radius: input.radius,
  });
  const { n_training: nTraining, n_heldout: nHeldout } = input;
  const summary = {
    g: Float64Array.from(input.g),
    nErrors: input.n_errors,
    nLabels: input.n_labels,
    nTraining,
    nHeldout,
  };
  const chance = new GivenChance(input.noise);
  const event = sanitizer.event(nTraining, nHeldout);
  const out = sanitizer.sanitize(summary, Float64Array.from(input.w), event, chance);
  const { releases } = event;
  const sensitivities = Object.fromEntries(releases.map((r) => [r.what, r.sensitivity]));
  assert.deepEqual(sensitivities, output.sensitivity);
  assert.equal(perSample(event), asNumber(output.cost));
  assert.deepEqual(
    { grid: out.grid, gradient: out.gradient, errors: out.nErrors, labels: out.nLabels },
    { grid: output.grid, gradient: output.gradient, errors: output.errors, labels: output.labels },
  );
  const noisy = releases.filter((release) => release.epsilon !== Infinity);
  assert.deepEqual(chance.levels, noisy, "the noise is asked for at the level that is charged");
  for (const { t, s } of noisy.map(laplaceScale)) assert.ok(t / s > 0);
}

/** @param {any} input @param {any} output */
function checkins(input, output) {
  const message = { ...input, gradient: encodeGradient(input.gradient) };
  assert.equal(JSON.stringify(message), output.json);
}

/** @param {any} input @param {any} output */
function checkouts(input, output) {
  const { version, state, parameters } = JSON.parse(output.json);
  assert.deepEqual([version, state, parameters], [input.version, input.state, output.base64]);
  const w = decodeParameters(parameters, input.parameters.length);
  assert.deepEqual(Array.from(w), input.parameters.map(Math.fround));
}

/** @param {any} event */
function eventOf({ n_training: nTraining, n_heldout: nHeldout, releases }) {
  const exact = releases.map((/** @type {any} */ r) => ({ ...r, epsilon: asNumber(r.epsilon) }));
  return { nTraining, nHeldout, releases: exact };
}

/** @param {any} input @param {any} output */
function ledger(input, output) {
  const account = new Ledger(input.events.map(eventOf));
  assert.equal(account.perSample, asNumber(output.per_sample));
  assert.equal(account.perDevice, asNumber(output.per_device));
  assert.equal(account.wholeDevice, asNumber(output.whole_device));
  const limits = { perSample: input.limits.per_sample, perDevice: input.limits.per_device };
  const ask = () => account.require(eventOf(input.next), limits);
  if (output.allowed) ask();
  else assert.throws(ask, LimitReached);
}

/** @param {any} input @param {any} output */
async function letters(input, output) {
  const limits = { perSample: Infinity, perDevice: Infinity };
  const agreement = await Agreement.of({ terms: input.terms, limits });
  const written = agreement.write(
    input.version,
    Float64Array.from(input.w),
    input.x.map((/** @type {number[]} */ row) => Float64Array.from(row)),
    input.y,
    new Ledger(),
    new GivenChance(input.noise, input.draws, input.id),
  );
  assert.ok(written);
  assert.equal(new TextDecoder().decode(written.letter.body), output.json);
  assert.equal(perSample(written.event), output.cost);
  assert.equal(input.draws.length, 0);
}

/** @param {any} input @param {any} output */
function sensing({ sensor, count, readings }, output) {
  const pipeline = new Sensing(SENSOR(sensor, "sensor"), count);
  const taken = readings.flatMap((/** @type {[number, number | null, number | null]} */ reading) =>
    pipeline.push(reading[0], reading[1] ?? NaN, reading[2]),
  );
  assert.equal(taken.length, output.taken.length);
  taken.forEach((/** @type {any} */ sample, /** @type {number} */ i) => {
    const { x, ...exact } = output.taken[i];
    assert.deepEqual({ time: sample.time, window: sample.window, y: sample.y }, exact);
    close(sample.x, x);
  });
}

/** @param {any} _ @param {any} output */
async function terms(_, output) {
  assert.equal(await termsHash(output.text), output.sha256);
  const parsed = Terms.parse(output.text);
  const { text, ...sections } = parsed;
  assert.equal(text, output.text);
  assert.deepEqual(JSON.parse(JSON.stringify(sections)), JSON.parse(output.text));
}

/**
 * @param {Float64Array} found
 * @param {number[]} expected
 */
function close(found, expected) {
  assert.equal(found.length, expected.length);
  const scale = expected.reduce((sum, value) => sum + Math.abs(value), 0);
  found.forEach((value, j) => {
    const wanted = expected[j] ?? NaN;
    const off = Math.abs(value - wanted);
    assert.ok(off <= 1e-12 * Math.max(Math.abs(wanted), scale), `${value} is not ${wanted}`);
  });
}
