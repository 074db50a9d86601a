/**
 * Count how well the crowd's model works for this participant.
 *
 * Only the participant sees this: the counts stay in this browser until the device leaves.
 */

import { phrase } from "../phrase.js";

/** @import { LinearModel, RightCount, Rows } from "../types.js" */

/** The sentence covers the newest check-ins that have this many samples together. */
const ENOUGH_SAMPLES = 20;
const MOST_BARS = 30;

/**
 * Predict samples with parameters that none of these samples has changed. Parameters that are all 0
 * have learnt nothing, so no sample counts.
 *
 * @type {(model: LinearModel, w: Float64Array, x: Rows, y: readonly number[]) => RightCount}
 */
export function countRight(model, w, x, y) {
  if (w.every((value) => value === 0)) return { right: 0, samples: 0 };
  let wrong = 0;
  for (const [i, row] of x.entries()) {
    wrong += Number(model.isMistake(w, row, /** @type {number} */ (y[i])));
  }
  return { right: x.length - wrong, samples: x.length };
}

/**
 * Return the share of right predictions over time, check-in by check-in, in at most 30 parts.
 *
 * @param {readonly RightCount[]} tallies
 */
export function sharesOverTime(tallies) {
  const counted = tallies.filter(({ samples }) => samples);
  const parts = Math.min(counted.length, MOST_BARS);
  const cut = (/** @type {number} */ i) => Math.floor((i * counted.length) / parts);
  return Array.from({ length: parts }, (_, i) => {
    const { right, samples } = sum(counted.slice(cut(i), cut(i + 1)));
    return right / samples;
  });
}

/**
 * Write the sentence, or return null for fewer than two samples.
 *
 * @param {readonly RightCount[]} tallies
 * @param {number | null} tolerance Of a task that predicts a number; null where it predicts a label.
 */
export function describePersonalAccuracy(tallies, tolerance) {
  let start = tallies.length;
  while (start > 0 && sum(tallies.slice(start)).samples < ENOUGH_SAMPLES) start--;
  const { right: n, samples: of } = sum(tallies.slice(start));
  if (of < 2) return null;
  return tolerance === null
    ? phrase("The crowd’s model guessed {n} of your last {of} samples right.", { n, of })
    : phrase("The crowd’s model was within {off} of the number in {n} of your last {of} samples.", {
        off: tolerance,
        n,
        of,
      });
}

/** @param {readonly RightCount[]} tallies */
function sum(tallies) {
  const total = { right: 0, samples: 0 };
  for (const { right, samples } of tallies) {
    total.right += right;
    total.samples += samples;
  }
  return total;
}
