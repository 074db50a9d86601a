/** Define linear classifiers, which predict argmax_k w_k'x, ties to the lowest k. */

import { at, root } from "../privacy/features.js";
import { LinearModel } from "./linear.js";

/**
 * Exponents are cut here, so that no slope, and no product of a slope, is so close to 0 that
 * processors take longer for it: the time would reveal which samples have such slopes.
 */
const SMALLEST_EXPONENT = -60;

/** Define a classifier whose slopes have an L1 norm of at most 2 and an L2 norm of at most √2. */
class Classifier extends LinearModel {
  /** @override @type {LinearModel["slopeBound"]} */
  slopeBound(norm) {
    return root(2, norm);
  }

  /** @override @type {LinearModel["predictScores"]} */
  predictScores(s) {
    return best(s);
  }
}

/**
 * Multiclass logistic regression, the paper's Table I; loss −w_y'x + log Σ_l exp(w_l'x).
 *
 * The slopes P − e_y have L1 norm 2(1 − P_y); their squares add up to at most 2(1 − P_y)².
 */
export class Softmax extends Classifier {
  /** @override @type {LinearModel["slopes"]} */
  slopes(s, y) {
    const top = at(s, best(s));
    const e = Float64Array.from(s, (score) => Math.exp(Math.max(score - top, SMALLEST_EXPONENT)));
    const total = e.reduce((sum, value) => sum + value, 0);
    return e.map((value, k) => value / total - (k === y ? 1 : 0));
  }
}

/**
 * The multiclass support vector machine of Crammer and Singer (JMLR 2, 2001); loss
 * max(0, 1 + max_{k≠y} w_k'x − w_y'x).
 *
 * The slopes are 1 for the strongest rival and −1 for the true class, or all 0.
 */
export class Hinge extends Classifier {
  /** @override @type {LinearModel["slopes"]} */
  slopes(s, y) {
    const rival = best(s.map((score, k) => (k === y ? -Infinity : score)));
    const violated = at(s, y) - at(s, rival) < 1 ? 1 : 0;
    const m = new Float64Array(s.length);
    m[rival] = violated;
    m[y] = -violated;
    return m;
  }
}

/** @param {Float64Array} s */
function best(s) {
  let k = 0;
  for (let l = 1; l < s.length; l++) if (at(s, l) > at(s, k)) k = l;
  return k;
}
