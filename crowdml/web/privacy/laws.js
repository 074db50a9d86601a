/** Define the laws of noise: their norm, and their strength at a level of privacy. */

/** @import { Law } from "../types.js" */

/** @type {Law} P(z) ∝ exp(−|z|/s), s = sensitivity/ε, for L1. */
export const LAPLACE = {
  norm: 1,
  rounding: (size) => size,
  twoBins: 2,
  strength: (level) => level,
  add: (values, release, chance) => chance.addLaplace(values, release),
};

/** @type {Law} P(z) ∝ exp(−z²/(2s²)), s = sensitivity/√(2ρ), for L2. */
export const GAUSSIAN = {
  norm: 2,
  rounding: (size) => Math.ceil(Math.sqrt(size)),
  twoBins: Math.SQRT2 + Number.EPSILON,
  strength: (level) => Math.sqrt(2 * level),
  add: (values, release, chance) => chance.addGaussian(values, release),
};
