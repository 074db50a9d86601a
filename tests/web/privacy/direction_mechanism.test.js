/** Check the direction mechanism: what it sends, with which probability, and what it rejects. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput, MODELS, Minibatch, checkinKeyOf } from "../../../crowdml/web/index.js";
import { DirectionMechanism } from "../../../crowdml/web/privacy/direction_mechanism.js";
import { FALSE_ALARM, chiSquareP } from "../statistics.js";
import { GivenChance } from "../vectors.js";

/** @import { DirectionPayload, DirectionEvent, DirectionSettings } from "../../../crowdml/web/types.js" */

const SETTINGS = { epsilon: 1.5, directions: 16, closest: 3, size: 15, nClasses: 3, batch: 4,
  evaluators: 0, counters: 0, scale: 1, regularization: 0 }; // prettier-ignore
const spec = { intercept: false, tolerance: 1, delta: 1 };
const model = MODELS.softmax.make(spec, 5, 3);
const place = await checkinKeyOf("ab", "ana", 1);

/**
 * Four samples with features of this size.
 *
 * @param {number} size
 */
function samples(size) {
  const row = (/** @type {number} */ i) => [0, 1, 2, 3, 4].map((j) => size * Math.sin(i + j));
  const x = [1, 2, 3, 4].map((i) => Float64Array.from(row(i)));
  return new Minibatch(model, new Float64Array(15), x, [0, 1, 2, 1]);
}

/**
 * @param {Minibatch} minibatch
 * @param {Partial<DirectionSettings>} changes
 * @param {Chance | GivenChance} chance
 * @param {Partial<DirectionEvent>} [other]
 */
function makePayload(minibatch, changes, chance, other = {}) {
  const mechanism = new DirectionMechanism({ ...SETTINGS, ...changes });
  const event = { ...mechanism.event(minibatch.nSamples, place), ...other };
  return mechanism.makePayload(minibatch, event, place, chance);
}

/**
 * Check that every number is sent with the stated probability, and that there are no others.
 *
 * @param {Minibatch} minibatch
 * @param {Partial<DirectionSettings>} changes
 * @param {number} numbers
 */
function checkProbabilities(minibatch, changes, numbers) {
  const chance = new Chance();
  const counts = new Array(numbers).fill(0);
  const probabilities = new Array(numbers).fill(NaN);
  for (let i = 0; i < 40_000; i++) {
    const { payload, truth } = makePayload(minibatch, changes, chance);
    const { direction, wrong, answer } = /** @type {DirectionPayload} */ (payload);
    const number = direction ?? wrong ?? answer ?? NaN;
    counts[number]++;
    probabilities[number] = truth.probability;
    assert.ok(truth.probability >= truth.unlikely * (1 - 1e-12));
    assert.ok(truth.probability <= truth.likely * (1 + 1e-12));
    assert.ok(truth.likely <= truth.unlikely * Math.exp(SETTINGS.epsilon));
    assert.ok(truth.likely >= truth.unlikely * Math.exp(SETTINGS.epsilon) * (1 - 1e-6));
  }
  assert.ok(Math.abs(probabilities.reduce((a, b) => a + b) - 1) < 1e-12);
  assert.ok(chiSquareP(counts, probabilities) > FALSE_ALARM);
}

test("directions of a long gradient", () => checkProbabilities(samples(1), {}, 16));

test("directions of a short gradient, which is turned round now and then", () => {
  checkProbabilities(samples(0.05), {}, 16);
});

test("right or wrong about samples that differ", () => {
  checkProbabilities(samples(1), { evaluators: 0.9999 }, 2);
});

test("answers of samples that differ", () => checkProbabilities(samples(1), { counters: 0.9999 }, 3));

test("how likely a gradient is turned round", () => {
  const short = samples(0.02);
  const length = Math.hypot(...short.meanGradient([true, true, true, true], Infinity, 2));
  for (const scale of [1, 3]) {
    const turning = (1 - length / ((0.3 * scale) / 4)) / 2;
    assert.ok(turning > 0.1 && turning < 0.5);
    const first = (/** @type {number} */ draw) =>
      makePayload(short, { scale }, new GivenChance({}, [draw, "0", 0])).payload;
    const below = Math.floor(turning * 2 ** 53);
    // The gradient is rounded to 2⁻¹⁶ of its largest number.
    const slack = 2 ** 36;
    assert.deepEqual(first(below - slack), first(0));
    assert.deepEqual(first(below + slack), first(2 ** 53 - 1));
    assert.notDeepEqual(first(0), first(2 ** 53 - 1));
  }
});

test("for any gradient, each rank has one number that is sent", () => {
  const nonsense = samples(1);
  for (const value of [NaN, Infinity, 0]) {
    nonsense.meanGradient = () => new Float64Array(15).fill(value);
    const payload = (/** @type {string} */ coin, /** @type {number} */ pick) =>
      JSON.stringify(makePayload(nonsense, {}, new GivenChance({}, [0, coin, pick])).payload);
    const best = [0, 1, 2].map((pick) => payload("0", pick));
    const others = Array.from({ length: 13 }, (_, pick) => payload(String(2n ** 64n - 1n), pick));
    assert.equal(new Set([...best, ...others]).size, 16);
  }
});

test("an event of another check-in is not spent", () => {
  const chance = new Chance();
  assert.equal(makePayload(samples(1), {}, chance).payload.number, 1);
  for (const other of [{ number: 2 }, { epsilon: 1 }, { kind: "noise" }]) {
    const event = /** @type {Partial<DirectionEvent>} */ (other);
    assert.throws(() => makePayload(samples(1), {}, chance, event), InvalidInput);
  }
});
