/** Reproduce every vector that the Python package wrote. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { requireSuccessor } from "../../crowdml/web/device/agreement.js";
import { boundFeatures, checkTarget, targetOf } from "../../crowdml/web/privacy/features.js";
import { chooseGrid, quantize, sensitivitySteps } from "../../crowdml/web/privacy/grid.js";
import { decodeParameters } from "../../crowdml/web/protocol/codec.js";
import { FEATURES } from "../../crowdml/web/protocol/features.js";
import { errorInWords, estimateInWords, probabilityInWords, significant } from "../../crowdml/web/protocol/numbers_in_words.js";

import {
  Agreement,
  Chance,
  CrowdmlError,
  InvalidSample,
  InvalidTask,
  LimitReached,
  Ledger,
  Loss,
  MECHANISMS,
  MODELS,
  Minibatch,
  Sensing,
  Terms,
  sharesOverTime,
  describePersonalAccuracy,
  limitsOf,
  lossOf,
  scaledFeatures,
  checkinKeyOf,
  phrase,
  termsHash,
  describeContribution,
  wholeLossOf,
  write,
} from "../../crowdml/web/index.js";
import { translator } from "../../crowdml/web/page/translate.js";
import { Choice } from "../../crowdml/web/privacy/choice.js";
import { Codebook, inWholeNumbers } from "../../crowdml/web/privacy/codebook.js";
import { DirectionMechanism } from "../../crowdml/web/privacy/direction_mechanism.js";
import { GAUSSIAN, LAPLACE } from "../../crowdml/web/privacy/laws.js";
import { NoiseMechanism } from "../../crowdml/web/privacy/noise_mechanism.js";
import { epsilonOf, lossBound } from "../../crowdml/web/privacy/zcdp.js";
import { SENSOR } from "../../crowdml/web/protocol/sensor.js";
import { GivenChance, asNumber, vectors } from "./vectors.js";

/** @type {Record<string, (input: any, output: any) => void | Promise<void>>} */
const CHECKS = { adversaries, agreements, checkouts, choice, codebooks, features, gradients, grid, labels, ledger, messages, noisy,
  numbers, numbers_in_words, promise, quantisation, results, roles, rounding, sensing, sensitivity,
  successors, terms, zcdp }; // prettier-ignore

for (const [name, check] of Object.entries(CHECKS)) {
  vectors(name).forEach(({ input, output }, i) => {
    test(`${name}-${i}`, () => check(input, output));
  });
}

test("no vector is left out", () => {
  const files = readdirSync(new URL("../vectors", import.meta.url));
  const names = files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -5));
  // tests/conformance checks what a whole device does in a browser.
  assert.deepEqual(names.sort(), [...Object.keys(CHECKS), "behaviour"].sort());
});

test("every kind of model and of mechanism has vectors", () => {
  const kinds = new Set(vectors("gradients").map(({ input }) => input.kind));
  assert.deepEqual([...kinds].sort(), Object.keys(MODELS).sort());
  for (const texts of [
    vectors("messages").map(({ input }) => input.terms),
    vectors("terms").map(({ output }) => output.text),
  ]) {
    const named = new Set(texts.map((text) => JSON.parse(text).privacy.mechanism));
    assert.deepEqual([...named].sort(), Object.keys(MECHANISMS).sort());
  }
});

const FORMS = { one: "one", few: "few", many: "many", other: "other" };

/** @param {any} input @param {any} output */
function numbers({ language, number: n }, { written, form }) {
  const catalogue = new Map([["{n} things", FORMS]]);
  assert.equal(write(phrase("{n}", { n }), translator(catalogue, language), language), written);
  if (form) assert.equal(write(phrase("{n} things", { n }), translator(catalogue, language), language), form);
}

/** @param {any} input @param {any} output */
function numbers_in_words({ number, margin }, output) {
  const estimate = number === null ? null : { value: number, margin };
  assert.equal(write(estimateInWords(estimate)), output.estimate);
  assert.equal(write(errorInWords(estimate)), output.error);
  if (!estimate) return;
  assert.equal(write(probabilityInWords(number)), output.chance);
  assert.equal(significant(number, 3), output.significant);
}

/** @param {any} input @param {any} output */
function grid({ clip, largest, n, strength }, output) {
  assert.equal(chooseGrid(clip, largest, n, asNumber(strength)), output.grid);
}

/** @param {any} input @param {any} output */
function sensitivity({ clip, n, grid, rounding }, output) {
  assert.equal(sensitivitySteps(clip, n, grid, rounding), output.steps);
}

/** @param {any} input @param {any} output */
function results(input, output) {
  const counts = input.tallies.map((/** @type {number[]} */ [right, samples]) => ({ right, samples }));
  const said = describePersonalAccuracy(counts, input.tolerance);
  assert.equal(said && write(said), output.personal_accuracy);
  assert.deepEqual(sharesOverTime(counts), output.shares_over_time);
  const named = (/** @type {number[] | null} */ row) => row && { value: row.at(-2), margin: row.at(-1) };
  const errors = input.errors.map((/** @type {number[]} */ row) => ({ version: row[0], ...named(row) }));
  const { state, version } = input;
  const final = state === "reached";
  const now = { state, version, final, error: /** @type {any} */ (named(input.error)), errors };
  assert.deepEqual(describeContribution(input.mine, now).map((each) => write(each)), output.became);
}

/** @param {any} input @param {any} output */
function quantisation({ values, grid }, output) {
  assert.deepEqual(quantize(values, grid), output.integers);
}

/** @param {any} input @param {any} output */
function features({ x, norm, features = { count: x.length } }, { bounded }) {
  const columns = FEATURES(features, "features");
  if (bounded) assert.deepEqual(Array.from(scaledFeatures(columns, x, norm)), bounded);
  else assert.throws(() => scaledFeatures(columns, x, norm), InvalidSample);
}

/** @param {any} input @param {any} output */
function labels({ labels: names, written }, { target }) {
  if (/^-?[0-9]+\.0+$/.test(written) || (!names.length && written.startsWith('"'))) return;
  const find = () => targetOf(JSON.parse(written), names);
  if (target === null) assert.throws(find, InvalidSample);
  else assert.equal(find(), target);
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
    close(model.meanGradient(w, [row], [input.y[i]], Infinity, 1), output.gradients[i]);
  });
  assert.equal(model.bound(input.norm), asNumber(output.bound));
  close(model.meanGradient(w, x, input.y, input.clip, input.norm), output.mean);
}

/** @param {any} input @param {any} output */
function zcdp({ rho, delta }, { epsilon, bound }) {
  near(epsilonOf(rho, delta), epsilon);
  near(lossBound(rho, delta), bound);
}

/** @param {any} input @param {any} output */
async function codebooks(input, output) {
  const { seed } = await checkinKeyOf(input.terms_sha256, input.device, input.number);
  const book = new Codebook(input.size, seed);
  const axes = Array.from({ length: input.size }, (_, i) =>
    Float64Array.from({ length: input.size }, (_, j) => Number(i === j)),
  );
  input.which.forEach((/** @type {number} */ j, /** @type {number} */ row) => {
    const word = axes.map((axis) => book.scores(axis, j + 1)[j]);
    assert.deepEqual(word, output.codewords[row]);
  });
  const scores = book.scores(Float64Array.from(input.u), input.directions);
  assert.deepEqual(Array.from(scores), output.scores);
}

/** @param {any} input @param {any} output */
function adversaries(input, output) {
  const { kind, n_features: D, n_classes: nClasses, regularization, ...settings } = input;
  const model = MODELS[/** @type {keyof typeof MODELS} */ (kind)].make(settings, D, nClasses);
  const x = input.x.map((/** @type {number[]} */ row) => boundFeatures(row, D, 2));
  const y = input.y.map((/** @type {number} */ each) => checkTarget(each, nClasses));
  const { size } = model;
  const share = { evaluators: 0, counters: 0, epsilon: 1, closest: 1, scale: 1, batch: 1 };
  const mechanism = new DirectionMechanism({ ...share, directions: 2, size, nClasses, regularization });
  const place = { number: 1, seed: /** @type {const} */ ([1, 2]), roleWord: 0 };
  const slopes = watched(model, "slopes", (found) => found.forEach(assertQuick));
  const scores = watched(Codebook.prototype, "scores", (_, whole) => {
    assert.deepEqual(Array.from(whole), output.whole, "the loop reads whole numbers");
  });
  const minibatch = new Minibatch(model, Float64Array.from(input.w), x, y);
  const event = { kind: "direction", number: 1, role: /** @type {const} */ ("train"), epsilon: 1 };
  try {
    mechanism.makePayload(minibatch, event, place, new Chance());
  } finally {
    assert.deepEqual([slopes(), scores()], [x.length, 1]);
  }
}

/**
 * Look at the arguments and results of a method until the returned function is called, which returns
 * the number of calls.
 *
 * @param {any} object
 * @param {string} name
 * @param {(found: any, ...given: any[]) => void} look
 */
function watched(object, name, look) {
  const method = object[name];
  let calls = 0;
  object[name] = function (/** @type {any[]} */ ...given) {
    const found = method.apply(this, given);
    calls++;
    look(found, ...given);
    return found;
  };
  return () => {
    object[name] = method;
    return calls;
  };
}

/** @param {number} value */
function assertQuick(value) {
  assert.ok(value === 0 || Math.abs(value) >= 2 ** -1022, `${value} takes processors longer`);
}

/** @param {any} input @param {any} output */
function agreements(input, output) {
  if (!output.accepted) {
    assert.throws(() => Terms.parse(input.terms), InvalidTask);
    return;
  }
  const agreed = Terms.parse(input.terms);
  const { perSample, perDevice } = limitsOf(agreed);
  assert.equal(agreed.private, output.private);
  near(perSample, asNumber(output.per_sample));
  near(perDevice, asNumber(output.per_device));
}

/** @param {any} input @param {any} output */
function successors(input, output) {
  const [old, next] = [Terms.parse(input.terms), Terms.parse(input.new)];
  const ask = () => requireSuccessor(next, old, input.samples);
  if (output.may) ask();
  else assert.throws(ask, CrowdmlError);
}

/** @param {any} input @param {any} output */
function rounding(input, output) {
  const { whole, length } = inWholeNumbers(Float64Array.from(input.u));
  assert.deepEqual(Array.from(whole), output.whole);
  assert.equal(length, output.length);
}

/** @param {any} input @param {any} output */
function choice({ k, t, epsilon }, output) {
  // An exponential may differ in its last bit, and with it p(1 − p) times as much of the coin.
  const off = new Choice(k, t, epsilon).coin - BigInt(output.coin);
  assert.ok(off <= 2n ** 11n && off >= -(2n ** 11n), `off by ${off}`);
}

/** @param {any} input @param {any} output */
async function roles({ terms_sha256, device, number, evaluators, counters }, { role }) {
  const settings = { epsilon: 4, directions: 8, closest: 1, size: 3, nClasses: 3, batch: 1, scale: 1,
    regularization: 0, evaluators, counters }; // prettier-ignore
  const place = await checkinKeyOf(terms_sha256, device, number);
  const event = new DirectionMechanism(settings).event(1, place);
  assert.deepEqual(event, { kind: "direction", number, role, epsilon: 4 });
}

/** @param {any} input @param {any} output */
async function noisy(input, output) {
  const { levels, clip, heldout, regularization, radius, delta } = input;
  const mechanism = new NoiseMechanism({
    law: input.law === "laplace" ? LAPLACE : GAUSSIAN,
    levels: {
      gradient: asNumber(levels.gradient),
      errors: asNumber(levels.errors),
      labels: asNumber(levels.labels),
    },
    size: input.g.length,
    nClasses: input.n_classes,
    clip,
    heldout,
    regularization,
    radius,
    delta,
  });
  const looked = {
    nSamples: input.mistakes.length,
    w: Float64Array.from(input.w),
    labels: input.labels,
    mistakes: () => input.mistakes,
    meanGradient: () => Float64Array.from(input.g),
  };
  const minibatch = /** @type {import("../../crowdml/web/privacy/minibatch.js").Minibatch} */ (
    /** @type {unknown} */ (looked)
  );
  const chance = new GivenChance(input.noise, input.draws);
  const event = mechanism.event(looked.nSamples);
  const { payload } = mechanism.makePayload(minibatch, event, await checkinKeyOf("", "", 1), chance);
  const { releases } = event;
  const sensitivities = Object.fromEntries(releases.map((r) => [r.what, r.sensitivity]));
  assert.deepEqual(sensitivities, output.sensitivity);
  near(lossOf(event).total, asNumber(output.loss));
  near(wholeLossOf(event).total, asNumber(output.whole_loss));
  assert.deepEqual(payload, output.payload);
  const hidden = releases.filter((release) => release.level !== Infinity);
  assert.deepEqual(chance.amounts, hidden, "the noise is asked for at the level that is charged");
}

/** @param {any} input @param {any} output */
function checkouts(input, output) {
  const { version, state, parameters } = JSON.parse(output.json);
  assert.deepEqual([version, state, parameters], [input.version, input.state, output.base64]);
  const w = decodeParameters(parameters, input.parameters.length);
  assert.deepEqual(Array.from(w), input.parameters.map(Math.fround));
}

/** @param {any} event */
function eventOf({ n_training: nTraining, n_heldout: nHeldout, releases, delta, ...number }) {
  if (!releases) return { kind: "direction", ...number };
  const exact = releases.map((/** @type {any} */ r) => ({ ...r, level: asNumber(r.level) }));
  return { kind: "noise", nTraining, nHeldout, releases: exact, delta };
}

/** @param {any} input @param {any} output */
function ledger(input, output) {
  const account = new Ledger(input.events.map(eventOf));
  const pure = input.events.every((/** @type {any} */ event) => !event.delta);
  const same = pure ? assert.equal : near;
  same(account.epsilonPerSample, asNumber(output.epsilon_per_sample));
  same(account.epsilonSpent, asNumber(output.epsilon_spent));
  same(account.epsilonPerPerson, asNumber(output.epsilon_per_person));
  const limits = { perSample: input.limits.per_sample, perDevice: input.limits.per_device };
  const ask = () => account.require(eventOf(input.next), limits);
  if (output.allowed) ask();
  else assert.throws(ask, LimitReached);
}

/** @param {any} input @param {any} output */
async function messages(input, output) {
  const { terms, device, number, version, y } = input;
  const limits = { perSample: Infinity, perDevice: Infinity };
  const agreement = await Agreement.of({ device, terms, limits });
  const before = eventOf({ number: 1, what: "direction", epsilon: 1 });
  const ledger = new Ledger(new Array(number - 1).fill(before));
  const chance = new GivenChance(input.noise, input.draws, input.id);
  const x = input.x.map((/** @type {number[]} */ row) => Float64Array.from(row));
  const w = Float64Array.from(input.w);
  const exported = input.exported && Float64Array.from(input.exported);
  const approval = await agreement.approve(ledger, x.length);
  const written = agreement.write(approval, version, { w, exported }, x, y, ledger, chance);
  assert.ok(written);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(written.checkin.body)), output.message);
  near(lossOf(written.event).total, output.loss);
  assert.equal(chance.left, 0);
}

/** @param {any} input @param {any} output */
function promise({ terms, checkins, sent }, { roles, sentences, ...output }) {
  const found = Terms.parse(terms).promise(checkins, sent.map((/** @type {any} */ each) => new Loss(each)));
  const { epsilonPerCheckin, epsilonPerPerson } = found;
  near(found.epsilon, asNumber(output.epsilon));
  near(found.epsilonPerSample, asNumber(output.epsilon_per_sample));
  near(epsilonPerCheckin ?? 0, output.epsilon_per_checkin ?? 0);
  near(epsilonPerPerson ?? 0, output.epsilon_per_person ?? 0);
  near(found.epsilonPerReading, asNumber(output.epsilon_per_reading));
  near(found.certainty, output.certainty);
  const exact = {
    private: found.private,
    whom: found.whom,
    level: found.level.key,
    pill: write(found.level.pill),
    checkins: found.checkins,
  };
  for (const [name, value] of Object.entries(exact)) assert.equal(value, output[name], name);
  assert.deepEqual(found.roles.map(({ truth, ...share }) => share), roles.map(shareOf));
  found.roles.forEach(({ truth }, i) => near(truth, roles[i].truth));
  const said = Object.entries(found.sentences).map(([name, phrase]) => [name, write(phrase)]);
  assert.deepEqual(said, Object.entries(sentences));
}

/** @param {any} share */
const shareOf = ({ truth, ...share }) => share;

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
  assert.equal(parsed.slots, output.slots);
  const written = JSON.parse(output.text);
  written.target = { unit: "", ...written.target };
  assert.deepEqual(JSON.parse(JSON.stringify(sections)), written);
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

/**
 * Logarithms differ in the last bits between machines.
 *
 * @param {number} found
 * @param {number} expected
 */
function near(found, expected) {
  const same = found === expected || Math.abs(found - expected) <= 1e-12 * expected;
  assert.ok(same, `${found} is not ${expected}`);
}
