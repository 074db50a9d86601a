/** Device Routine 2: from a minibatch and w to the numbers that Routine 3 will hide. */

/** @import { LinearModel } from "./models/linear.js" */
/** @import { Draw, Rows, Summary } from "./types.js" */

/**
 * Set aside nHeldout of the samples, all choices equally likely.
 *
 * @param {number} nSamples n_s.
 * @param {number} nHeldout How many to set aside.
 * @param {Draw} chance
 * @returns {boolean[]}
 */
export function chooseHeldout(nSamples, nHeldout, chance) {
  const order = Array.from({ length: nSamples }, (_, i) => i);
  const heldout = order.map(() => false);
  for (let i = 0; i < nHeldout; i++) {
    const j = i + chance.below(nSamples - i);
    const chosen = /** @type {number} */ (order[j]);
    order[j] = /** @type {number} */ (order[i]);
    heldout[chosen] = true;
  }
  return heldout;
}

/**
 * Predict, count errors and labels, and average the clipped gradients.
 *
 * Errors are counted on the held-out samples, or on all where there are none; gradients are
 * averaged over the samples really used for them.
 *
 * @param {LinearModel} model
 * @param {Float64Array} w
 * @param {Rows} x
 * @param {readonly number[]} y
 * @param {readonly boolean[]} heldout
 * @param {number} clip S.
 * @returns {Summary}
 */
export function summarize(model, w, x, y, heldout, clip) {
  const nHeldout = heldout.filter(Boolean).length;
  const training = (/** @type {unknown} */ _, /** @type {number} */ i) => !heldout[i];
  let nErrors = 0;
  const nLabels = Array.from({ length: model.nClasses }, () => 0);
  x.forEach((row, i) => {
    const target = /** @type {number} */ (y[i]);
    const evaluated = nHeldout ? heldout[i] : true;
    if (evaluated && model.isMistake(w, row, target)) nErrors++;
    if (model.nClasses) nLabels[target] = (nLabels[target] ?? 0) + 1;
  });
  return {
    g: model.meanGradient(w, x.filter(training), y.filter(training), clip),
    nErrors,
    nLabels,
    nTraining: x.length - nHeldout,
    nHeldout,
  };
}
