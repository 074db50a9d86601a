/** Numbers of a promise as people read them, the same in every language of programs. */

import { phrase } from "./phrase.js";

/**
 * How often a coin's guess can become right, at most: 1/(1 + e^−ε).
 *
 * @param {number} epsilon
 */
export const certainty = (epsilon) => 1 / (1 + Math.exp(-epsilon));

/** @param {number} value */
export const nearest = (value) => Math.floor(value + 0.5);

/** @param {number} share A probability. */
export function times(share) {
  for (let of = 100; of <= 1e6; of *= 10) {
    const n = nearest(share * of);
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
