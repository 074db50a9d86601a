/** Numbers of a promise as people read them, the same in every language of programs. */

import { phrase } from "./phrase.js";

/** What is this little above a whole number is that number: floats are rounded. */
const ROUNDING = 1e-9;

/**
 * How sure somebody with a coin's guess can become, at most: 1/(1 + e^−loss).
 *
 * @param {number} loss ε, or `Loss.bound` where there is a δ.
 */
export const certainty = (loss) => 1 / (1 + Math.exp(-loss));

/** @param {number} value */
export const nearest = (value) => Math.floor(value + 0.5);

/** @param {number} share A probability. */
export const times = (share) => written(share, 0.5);

/** @param {number} share A probability that is a bound, rounded up. */
export const atMostTimes = (share) => written(share, 1 - ROUNDING);

/**
 * @param {number} share A probability.
 * @param {number} up What is added before the rest is cut off.
 */
function written(share, up) {
  for (let of = 100; of <= 1e6; of *= 10) {
    const n = Math.floor(share * of + up);
    // One in a hundred may be half of that: what is left needs more than its first digit.
    if (n > 0 && n < of - 1) return phrase("{n} times in {of}", { n, of });
  }
  return share > 0.5 ? phrase("practically always") : phrase("practically never");
}

/**
 * ε to four significant digits, rounded up, which `write` then shows.
 *
 * @param {number} value
 */
export function shown(value) {
  const near = Number(value.toPrecision(4));
  if (near >= value * (1 - 1e-9)) return near;
  return Number((near + 10 ** (Math.floor(Math.log10(value)) - 3)).toPrecision(4));
}

/**
 * @param {"sample" | "check-in" | "person"} noun
 * @param {number} n
 */
export function counted(noun, n) {
  if (noun === "person") return n === 1 ? phrase("1 person") : phrase("{n} people", { n });
  if (noun === "sample") return n === 1 ? phrase("1 sample") : phrase("{n} samples", { n });
  return n === 1 ? phrase("1 check-in") : phrase("{n} check-ins", { n });
}
