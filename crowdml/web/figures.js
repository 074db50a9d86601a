/** Numbers of a promise as people read them, the same in every language of programs. */

import { phrase } from "./phrase.js";

/** Above this ε, a percentage is written as 100. */
const NEARLY_INFINITE = 50;

/**
 * How often a coin's guess can become right, at most: 1/(1 + e^−ε).
 *
 * @param {number} epsilon
 */
export const certainty = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/**
 * Write a probability as a number of times.
 *
 * @param {number} share
 */
export function times(share) {
  for (let of = 100; of <= 1e6; of *= 10) {
    const n = Math.floor(share * of + 0.5);
    if (n > 0 && n < of) return phrase("{n} times in {of}", { n, of });
  }
  return share > 0.5 ? phrase("practically always") : phrase("practically never");
}

/**
 * Write `certainty` as a percentage that is not rounded up to 100, unless ε is above 50.
 *
 * @param {number} epsilon
 * @param {string} [language]
 */
export function percentSure(epsilon, language = "en") {
  if (epsilon > NEARLY_INFINITE) return "100";
  const rest = 100 / (1 + Math.exp(epsilon));
  const sure = rest < 0.1 ? manyNines(rest) : (100 - rest).toFixed(1);
  return sure.replace(".", (0.5).toLocaleString(language).charAt(1));
}

/**
 * Write 100 − rest, which floats have too few digits for: 99.9…9 with the first two digits of the rest
 * taken off, rounded up.
 *
 * @param {number} rest
 */
function manyNines(rest) {
  const decimals = rest < 0.01 ? 1 - Math.floor(Math.log10(rest)) : 2;
  const last = 100 - Math.min(99, Math.floor(rest * 10 ** decimals));
  return `99.${"9".repeat(decimals - 2)}${String(last).padStart(2, "0")}`.replace(/0$/, "");
}

/**
 * ε to four significant digits, which `write` then shows.
 *
 * @param {number} value
 */
export const shown = (value) => Number(value.toPrecision(4));

/**
 * Write a number of things.
 *
 * @param {"sample" | "check-in"} noun
 * @param {number} n
 */
export function counted(noun, n) {
  if (noun === "sample") return n === 1 ? phrase("1 sample") : phrase("{n} samples", { n });
  return n === 1 ? phrase("1 check-in") : phrase("{n} check-ins", { n });
}
