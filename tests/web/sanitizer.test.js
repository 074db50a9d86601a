/** What the only door refuses to let through; what it lets through is in the vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chance, InvalidInput, Sanitizer } from "../../crowdml/web/index.js";

const sanitizer = new Sanitizer({
  epsilon: { gradient: 1, errors: 1, labels: 0 },
  clip: 2,
  size: 3,
  regularization: 0,
  radius: 1,
});
const chance = new Chance();

/**
 * @param {number[]} g
 * @param {{nTraining: number, nHeldout: number, releases?: []}} counts
 */
function sanitize(g, counts) {
  const summary = { g: Float64Array.from(g), nErrors: 0, nLabels: [], nTraining: 8, nHeldout: 2 };
  const event = { ...sanitizer.event(counts.nTraining, counts.nHeldout), ...counts };
  return sanitizer.sanitize(summary, new Float64Array(3), event, chance);
}

test("an event that was made for other numbers is not spent", () => {
  assert.equal(sanitize([1, 0, 0], { nTraining: 8, nHeldout: 2 }).gradient.length, 3);
  for (const [nTraining, nHeldout] of /** @type {const} */ ([[9, 2], [8, 3], [10, 0], [2, 8]])) {
    assert.throws(() => sanitize([1, 0, 0], { nTraining, nHeldout }), InvalidInput);
  }
});

test("what the event does not name is not sent", () => {
  const { gradient, nErrors } = sanitize([1, 0, 0], { nTraining: 8, nHeldout: 2, releases: [] });
  assert.deepEqual([gradient, nErrors], [[], 0]);
});

test("a gradient beyond its bound is not sent", () => {
  const counts = { nTraining: 8, nHeldout: 2 };
  for (const g of [[2, 1e-9, 0], [1, 1], [NaN, 0, 0]]) {
    assert.throws(() => sanitize(g, counts), InvalidInput);
  }
});
