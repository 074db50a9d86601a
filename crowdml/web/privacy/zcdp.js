/** Compute with concentrated differential privacy: ρ adds up over releases, and becomes (ε, δ). */

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Return an ε with which every mechanism that is ρ-zCDP is (ε, δ)-differentially private.
 *
 * ε = min over α > 1 of αρ + (log(1/δ) + α·log(1 − 1/α) − log(α − 1))/(α − 1).
 *
 * Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, Proposition 12.
 *
 * @param {number} rho ρ.
 * @param {number} delta δ.
 */
export function epsilonOf(rho, delta) {
  if (rho === 0) return 0;
  const bound = (/** @type {number} */ logStep) => {
    const step = Math.exp(logStep);
    const saved = (1 + step) * Math.log1p(-1 / (1 + step)) - logStep;
    return (1 + step) * rho + (saved - Math.log(delta)) / step;
  };
  // The bound falls, then rises; a golden-section search finds the minimum.
  let [low, high] = [-20, 25];
  for (let i = 0; i < 120; i++) {
    const left = high - GOLDEN * (high - low);
    const right = low + GOLDEN * (high - low);
    if (bound(left) < bound(right)) high = right;
    else low = left;
  }
  return Math.max(0, bound((low + high) / 2));
}

/**
 * Return how large log P/P′ becomes with Gaussian noise of ρ, except with probability δ.
 *
 * ρ + √(2ρ)·Φ⁻¹(1 − δ/2). `crowdml/privacy/zcdp.py` says why it holds for many check-ins, too.
 *
 * @param {number} rho ρ.
 * @param {number} delta δ.
 */
export const lossBound = (rho, delta) => rho + Math.sqrt(2 * rho) * normalAbove(delta / 2);

/**
 * Return the z that a standard normal exceeds with this probability.
 *
 * @param {number} probability At most 0.005, so that z is above 2.5 and the fraction converges.
 */
function normalAbove(probability) {
  let [low, high] = [2.5, 10];
  for (let i = 0; i < 60; i++) {
    const z = (low + high) / 2;
    if (tail(z) > probability) low = z;
    else high = z;
  }
  return (low + high) / 2;
}

/**
 * Return 1 − Φ(z), by Laplace's continued fraction.
 *
 * @param {number} z Above 2.5.
 */
function tail(z) {
  let below = z;
  for (let n = 200; n > 0; n--) below = z + n / below;
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI) / below;
}
