/** How much was payload, in the units that add up. */

import { exactSum } from "./exact.js";
import { epsilonOf } from "./zcdp.js";

/** Above this ε nothing is protected. */
export const PRIVATE_UP_TO = 20;

/** Relative room for the rounding of sums of floats, so that ten times 0.1 fits into 1. */
export const SLACK = 1e-9;

/** A pure ε, or a ρ of concentrated privacy, shown as ε at some δ; or both, added up. */
export class Loss {
  /** @param {{epsilon?: number, rho?: number, delta?: number}} parts */
  constructor({ epsilon = 0, rho = 0, delta = 0 }) {
    this.epsilon = epsilon;
    this.rho = rho;
    this.delta = delta;
  }

  /** ε in all, at δ. */
  get total() {
    if (this.rho === Infinity) return Infinity;
    return this.epsilon + (this.rho ? epsilonOf(this.rho, this.delta) : 0);
  }

  /** @param {number} n */
  times(n) {
    return new Loss({ epsilon: n * this.epsilon, rho: n * this.rho, delta: this.delta });
  }

  /** @param {number} n Units that change at once: group privacy. */
  group(n) {
    return new Loss({ epsilon: n * this.epsilon, rho: n * n * this.rho, delta: this.delta });
  }

  /** @param {readonly Loss[]} losses Of several δ the largest holds. */
  static sum(losses) {
    return new Loss({
      epsilon: exactSum(losses.map((loss) => loss.epsilon)),
      rho: exactSum(losses.map((loss) => loss.rho)),
      delta: losses.reduce((most, loss) => Math.max(most, loss.delta), 0),
    });
  }
}
