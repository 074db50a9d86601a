/** Predict a real target by linear regression: squared loss (ridge) and Huber loss. */

import { at } from "../privacy/features.js";
import { LinearModel } from "./linear.js";

/**
 * Prediction w'x; loss ½(w'x − y)².
 *
 * The gradient (w'x − y)·x has no bound of its own: a task must give a clip S.
 */
export class Ridge extends LinearModel {
  /**
   * @param {number} nFeatures
   * @param {boolean} intercept
   * @param {number} tolerance A sample counts as an error when |w'x − y| is larger than this.
   */
  constructor(nFeatures, intercept, tolerance) {
    super(nFeatures, 0, intercept);
    this.tolerance = tolerance;
  }

  /** @override */
  slopeBound() {
    return Infinity;
  }

  /** @override @type {LinearModel["predictScores"]} */
  predictScores(s) {
    return at(s, 0);
  }

  /** @override @type {LinearModel["slopes"]} */
  slopes(s, y) {
    return Float64Array.of(at(s, 0) - y);
  }

  /** @override @type {LinearModel["isMistake"]} */
  isMistake(w, x, y) {
    return Math.abs(this.predict(w, x) - y) > this.tolerance;
  }
}

/**
 * Prediction w'x; loss r²/2 for |r| ≤ δ, else δ(|r| − δ/2), with r = w'x − y.
 *
 * The slope is r cut to [−δ, δ], hence ‖g‖ ≤ δ for ‖x‖ ≤ 1.
 */
export class Huber extends Ridge {
  /**
   * @param {number} nFeatures
   * @param {boolean} intercept
   * @param {number} tolerance
   * @param {number} delta δ.
   */
  constructor(nFeatures, intercept, tolerance, delta) {
    super(nFeatures, intercept, tolerance);
    this.delta = delta;
  }

  /** @override */
  slopeBound() {
    return this.delta;
  }

  /** @override @type {LinearModel["slopes"]} */
  slopes(s, y) {
    return Float64Array.of(Math.max(-this.delta, Math.min(at(s, 0) - y, this.delta)));
  }
}
