/** Measure how much was revealed, in units that add up. */

import { exactSum } from "./exact.js";
import { epsilonOf, lossBound } from "./zcdp.js";

/** Above this ε nothing is protected. */
export const PRIVATE_UP_TO = 20;

/**
 * Room for the rounding of sums of floats: a share of one event, and at least a share of the sum.
 */
export const SLACK = 1e-9;
const ROUNDING = 2 ** -50;

/**
 * Decide whether a total is at most a limit, up to rounding, as ten times 0.1 is at most 1.
 *
 * @param {number} total
 * @param {number} limit
 * @param {number} cost The cost of the last event of the total.
 */
export const within = (total, limit, cost) =>
  total <= limit + Math.max(SLACK * Math.min(cost, limit), ROUNDING * limit);

/** Hold a pure ε, or a ρ of concentrated privacy, shown as ε at some δ; or both, added up. */
export class Loss {
  /** @param {{epsilon?: number, rho?: number, delta?: number}} parts */
  constructor({ epsilon = 0, rho = 0, delta = 0 }) {
    this.epsilon = epsilon;
    this.rho = rho;
    this.delta = delta;
  }

  /** The total ε, at δ. */
  get total() {
    if (this.rho === Infinity) return Infinity;
    return this.epsilon + (this.rho ? epsilonOf(this.rho, this.delta) : 0);
  }

  /** The most that log P/P′ becomes, except with probability δ; for pure ε it is ε. */
  get bound() {
    if (this.rho === Infinity) return Infinity;
    return this.epsilon + (this.rho ? lossBound(this.rho, this.delta) : 0);
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
