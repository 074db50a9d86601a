/** Define linear models: scores s = W x, then a loss of the scores. */

import { at, lengthOf, root } from "../privacy/features.js";

/** @import { MeanGradient, Norm } from "../types.js" */

/**
 * Return the share of S that is kept free for the rounding of floats; `crowdml/models/clipping.py`
 * proves that it is enough.
 *
 * @param {number} n The gradients that are averaged.
 */
const margin = (n) => Math.max(2 ** -30, n * n * 2 ** -52);

/**
 * A model whose loss sees x only through K scores, s_k = w_k'x (+ b_k).
 *
 * The gradient of one sample is the outer product of the slopes ∂l/∂s and the features, so
 * ‖g‖ = ‖∂l/∂s‖·‖x‖ in L1 and in L2. The feature 1 of an intercept stands beside ‖x‖ ≤ 1, which
 * doubles the L1 bound and takes √2 times the L2 bound.
 *
 * @abstract
 */
export class LinearModel {
  /**
   * @param {number} nFeatures D.
   * @param {number} nClasses C; 0 for a real target.
   * @param {boolean} intercept Whether each score has an intercept.
   */
  constructor(nFeatures, nClasses, intercept) {
    this.nFeatures = nFeatures;
    this.nClasses = nClasses;
    this.intercept = intercept;
    this.nScores = Math.max(nClasses, 1);
    this.size = this.nScores * (nFeatures + Number(intercept));
  }

  /** @type {(norm: Norm) => number} The largest possible ‖∂l/∂s‖. */
  slopeBound(norm) {
    throw new TypeError(`a model must have a bound on its slopes, found none in L${norm}.`);
  }

  /**
   * Return a proven bound on ‖∇l(x, y)‖ over all w, y and ‖x‖ ≤ 1, all in this norm; or Infinity.
   *
   * @param {Norm} norm
   */
  bound(norm) {
    return this.slopeBound(norm) * root(1 + Number(this.intercept), norm);
  }

  /** @type {(s: Float64Array) => number} */
  predictScores(s) {
    throw new TypeError(`a model must predict from scores, found none for ${s.length}.`);
  }

  /** @type {(s: Float64Array, y: number) => Float64Array<ArrayBuffer>} ∂l/∂s, K numbers. */
  slopes(s, y) {
    throw new TypeError(`a model must have slopes, found none for ${s.length} and ${y}.`);
  }

  /** @type {(w: Float64Array, x: Float64Array, y: number) => boolean} Counted in n_e. */
  isMistake(w, x, y) {
    return this.predict(w, x) !== y;
  }

  /** @type {(w: Float64Array, x: Float64Array) => Float64Array<ArrayBuffer>} */
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

  /** @type {(w: Float64Array, x: Float64Array) => number} h(x; w). */
  predict(w, x) {
    return this.predictScores(this.scores(w, x));
  }

  /**
   * Average the per-sample gradients ∇_w l(h(x; w), y), each first shrunk to ‖g_i‖ ≤ clip.
   *
   * @type {MeanGradient}
   */
  meanGradient(w, x, y, clip, norm) {
    const g = new Float64Array(this.size);
    const target = clip * (1 - margin(x.length));
    x.forEach((row, i) => {
      const m = this.slopes(this.scores(w, row), /** @type {number} */ (y[i]));
      const length = lengthOf(m, norm) * lengthOf(row, norm, Number(this.intercept));
      this.#accumulate(g, m, row, length > target ? target / length : 1);
    });
    return g.map((value) => value / x.length);
  }

  /** @type {(g: Float64Array, m: Float64Array, x: Float64Array, factor: number) => void} */
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
