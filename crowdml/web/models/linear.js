/** The family of linear models: scores s = W x, then a loss of the scores. */

import { l1Norm } from "../features.js";

/** @import { Rows } from "../types.js" */

/** Kept free below the bound S, so that a norm computed in floats cannot pass it. */
const MARGIN = 2 ** -30;

/**
 * A model whose loss sees x only through K scores, s_k = w_k'x (+ b_k).
 *
 * The gradient of one sample is the outer product of the slopes ∂l/∂s and the features, so
 * ‖g‖₁ = ‖∂l/∂s‖₁ · ‖x‖₁. An intercept doubles the bound: its feature 1 stands beside ‖x‖₁ ≤ 1.
 *
 * @abstract
 */
export class LinearModel {
  /**
   * @param {number} nFeatures D.
   * @param {number} nClasses C; 0 for a real target.
   * @param {boolean} intercept Whether each score has an intercept.
   * @param {number} slopeBound The largest possible ‖∂l/∂s‖₁.
   */
  constructor(nFeatures, nClasses, intercept, slopeBound) {
    this.nFeatures = nFeatures;
    this.nClasses = nClasses;
    this.intercept = intercept;
    this.nScores = Math.max(nClasses, 1);
    this.size = this.nScores * (nFeatures + Number(intercept));
    this.l1Bound = slopeBound * (1 + Number(intercept));
  }

  /**
   * @param {Float64Array} s
   * @returns {number}
   */
  predictScores(s) {
    throw new TypeError(`a model must predict from scores, found none for ${s.length}.`);
  }

  /**
   * ∂l/∂s, K numbers.
   *
   * @param {Float64Array} s
   * @param {number} y
   * @returns {Float64Array<ArrayBuffer>}
   */
  slopes(s, y) {
    throw new TypeError(`a model must have slopes, found none for ${s.length} and ${y}.`);
  }

  /**
   * Whether a sample counts towards n_e.
   *
   * @param {Float64Array} w
   * @param {Float64Array} x
   * @param {number} y
   * @returns {boolean}
   */
  isMistake(w, x, y) {
    return this.predict(w, x) !== y;
  }

  /**
   * @param {Float64Array} w
   * @param {Float64Array} x
   * @returns {Float64Array<ArrayBuffer>}
   */
  scores(w, x) {
    const { nScores, nFeatures } = this;
    const s = new Float64Array(nScores);
    for (let k = 0; k < nScores; k++) {
      let score = 0;
      for (let j = 0; j < nFeatures; j++) score += at(w, k * nFeatures + j) * at(x, j);
      s[k] = this.intercept ? score + at(w, nScores * nFeatures + k) : score;
    }
    return s;
  }

  /**
   * h(x; w).
   *
   * @param {Float64Array} w
   * @param {Float64Array} x
   * @returns {number}
   */
  predict(w, x) {
    return this.predictScores(this.scores(w, x));
  }

  /**
   * The average of the per-sample gradients ∇_w l(h(x; w), y), each first shrunk to ‖g_i‖₁ ≤ clip.
   *
   * @param {Float64Array} w
   * @param {Rows} x
   * @param {readonly number[]} y
   * @param {number} clip S.
   * @returns {Float64Array<ArrayBuffer>}
   */
  meanGradient(w, x, y, clip) {
    const g = new Float64Array(this.size);
    const target = clip * (1 - MARGIN);
    x.forEach((row, i) => {
      const m = this.slopes(this.scores(w, row), /** @type {number} */ (y[i]));
      const norm = l1Norm(m) * (l1Norm(row) + Number(this.intercept));
      this.#accumulate(g, m, row, target / Math.max(norm, target));
    });
    return g.map((value) => value / x.length);
  }

  /**
   * @param {Float64Array} g
   * @param {Float64Array} m
   * @param {Float64Array} x
   * @param {number} factor
   */
  #accumulate(g, m, x, factor) {
    const { nScores, nFeatures } = this;
    for (let k = 0; k < nScores; k++) {
      const slope = at(m, k) * factor;
      const row = k * nFeatures;
      for (let j = 0; j < nFeatures; j++) g[row + j] = at(g, row + j) + slope * at(x, j);
      const b = nScores * nFeatures + k;
      if (this.intercept) g[b] = at(g, b) + slope;
    }
  }
}

/**
 * An entry that is known to exist.
 *
 * @param {Float64Array} values
 * @param {number} index
 * @returns {number}
 */
export function at(values, index) {
  return /** @type {number} */ (values[index]);
}
