/** Concentrated differential privacy: ρ adds up over releases, and becomes (ε, δ). */

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The smallest ε with which ρ-zCDP is (ε, δ)-differentially private.
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
  // The bound falls, then rises; a golden section finds where it turns.
  let [low, high] = [-20, 25];
  for (let i = 0; i < 120; i++) {
    const left = high - GOLDEN * (high - low);
    const right = low + GOLDEN * (high - low);
    if (bound(left) < bound(right)) high = right;
    else low = left;
  }
  return Math.max(0, bound((low + high) / 2));
}
