/** Check what the mechanism with noise rejects; what it sends is in the vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput, checkinKeyOf } from "../../../crowdml/web/index.js";
import { GAUSSIAN, LAPLACE } from "../../../crowdml/web/privacy/laws.js";
import { NoiseMechanism } from "../../../crowdml/web/privacy/noise_mechanism.js";
import { decodeGradient } from "../../../crowdml/web/protocol/codec.js";

/** @import { Minibatch } from "../../../crowdml/web/privacy/minibatch.js" */
/** @import { Law, NoiseEvent } from "../../../crowdml/web/types.js" */

const settings = { law: LAPLACE, levels: { gradient: 1, errors: 1, labels: 0 }, clip: 2, size: 3,
  nClasses: 0, heldout: 0.2, regularization: 0, radius: 1, delta: 0 }; // prettier-ignore
const place = await checkinKeyOf("", "", 1);

/**
 * @param {number[]} g
 * @param {Partial<NoiseEvent>} changes
 * @param {Law} [law]
 */
function makePayload(g, changes, law = LAPLACE) {
  const mechanism = new NoiseMechanism({ ...settings, law });
  const w = new Float64Array(3);
  const meanGradient = () => Float64Array.from(g);
  const looked = { nSamples: 10, w, labels: [], mistakes: () => [true], meanGradient };
  const minibatch = /** @type {Minibatch} */ (/** @type {unknown} */ (looked));
  const event = { ...mechanism.event(10), ...changes };
  return mechanism.makePayload(minibatch, event, place, new Chance());
}

test("an event that was made for other numbers, or another mechanism, is not spent", () => {
  assert.equal(decodeGradient(makePayload([1, 0, 0], {}).payload.gradient, 3).length, 3);
  for (const [nTraining, nHeldout] of /** @type {const} */ ([[9, 2], [8, 3], [11, 0], [2, 7]])) {
    assert.throws(() => makePayload([1, 0, 0], { nTraining, nHeldout }), InvalidInput);
  }
  assert.throws(() => makePayload([1, 0, 0], { kind: "direction" }), InvalidInput);
});

test("an event with other releases is not spent", () => {
  const { releases } = new NoiseMechanism(settings).event(10);
  const weaker = releases.map((release) => ({ ...release, sensitivity: release.sensitivity - 1 }));
  const dearer = releases.map((release) => ({ ...release, level: 2 * release.level }));
  for (const other of [[], releases.slice(1), weaker, dearer]) {
    assert.throws(() => makePayload([1, 0, 0], { releases: other }), InvalidInput);
  }
});

test("a gradient beyond its bound is not sent", () => {
  for (const g of [[2, 1e-9, 0], [1.5, -1.5, 0], [1, 1], [NaN, 0, 0]]) {
    assert.throws(() => makePayload(g, {}), InvalidInput);
  }
  assert.ok(makePayload([1.4, -1.4, 0], {}, GAUSSIAN), "it is measured in the law's own norm");
  assert.throws(() => makePayload([1.5, -1.5, 0], {}, GAUSSIAN), InvalidInput);
});

test("gradients without a bound are not hidden", () => {
  for (const clip of [0, NaN, Infinity]) {
    assert.throws(() => new NoiseMechanism({ ...settings, clip }), InvalidInput);
  }
});
