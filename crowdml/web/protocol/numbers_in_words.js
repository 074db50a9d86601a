/** Write numbers as people read them, the same in Python and JavaScript. */

import { phrase } from "../phrase.js";

/**
 * A number that is above a whole number by less than this is rounded to it, since floats are
 * inexact.
 */
const ROUNDING = 1e-9;

/**
 * Return how sure somebody can become who had only a coin's guess: at most 1/(1 + e^−loss).
 *
 * @param {number} loss ε, or `Loss.bound` where there is a δ.
 */
export const certaintyOfLoss = (loss) => 1 / (1 + Math.exp(-loss));

/** @param {number} value */
export const roundHalfUp = (value) => Math.floor(value + 0.5);

/** @param {number} share A probability. */
export const timesInWords = (share) => written(share, 0.5);

/** @param {number} share A probability that is a bound, rounded up. */
export const atMostTimes = (share) => written(share, 1 - ROUNDING);

/**
 * @param {number} share A probability.
 * @param {number} up What is added before the rest is cut off.
 */
function written(share, up) {
  for (let of = 100; of <= 1e6; of *= 10) {
    const n = Math.floor(share * of + up);
    // The rest, such as 1 in 100, may be rounded from half of that: it needs more digits.
    if (n > 0 && n < of - 1) return phrase("{n} times in {of}", { n, of });
  }
  return share > 0.5 ? phrase("practically always") : phrase("practically never");
}

/**
 * Round a bound such as ε up to four significant digits, which `write` then shows.
 *
 * @param {number} value
 */
export function fourDigitsUp(value) {
  const near = Number(value.toPrecision(4));
  if (near >= value * (1 - 1e-9)) return near;
  return Number((near + 10 ** (Math.floor(Math.log10(value)) - 3)).toPrecision(4));
}

/** A probability below this, 0.001 %, is called practically none. */
const PRACTICALLY_NEVER = 1e-5;

/** A margin this large hides the answer. */
export const UNCERTAIN = 0.5;

/** @import { Estimate, Phrase } from "../types.js" */

/**
 * Write a probability in percent, with two digits of what is likely or of what is not.
 *
 * @param {number} share
 */
export function probabilityInWords(share) {
  const rest = Math.min(share, 1 - share);
  if (rest < PRACTICALLY_NEVER) {
    return share > 0.5 ? phrase("practically always") : phrase("practically never");
  }
  const decimals = Math.max(0, -Math.floor(Math.log10(10 * rest)));
  return phrase("{n}\u00a0%", { n: roundHalfUp(share * 10 ** (decimals + 2)) / 10 ** decimals });
}

/** @param {number} share An estimate, which noise can move outside of 0 … 1. */
export const clipToShare = (share) => Math.min(Math.max(share, 0), 1);

/**
 * Write an estimated share as a range within 0 … 1. The ends are rounded outwards, so that the
 * range is never too narrow.
 *
 * @param {Estimate} estimate
 */
export function shareRange({ value, margin }) {
  const [low, high] = [clipToShare(value - margin), clipToShare(value + margin)];
  const decimals = high - low >= 0.02 ? 0 : high - low >= 0.002 ? 1 : 2;
  const unit = 10 ** (decimals + 2);
  const [below, above] = [Math.floor(low * unit + ROUNDING), Math.ceil(high * unit - ROUNDING)];
  const cut = (/** @type {number} */ units) => units / 10 ** decimals;
  if (below === above) return phrase("{n}\u00a0%", { n: cut(below) });
  return phrase("between {low} and {high}\u00a0%", { low: cut(below), high: cut(above) });
}

/**
 * Write an estimated share as a range, or say why there is none.
 *
 * @param {Estimate | null} estimate
 */
export function estimateInWords(estimate) {
  if (!estimate) return phrase("not known");
  if (estimate.margin >= UNCERTAIN) return phrase("too uncertain");
  return shareRange(estimate);
}

/**
 * Say how often a model is wrong.
 *
 * @param {Estimate | null} error
 * @returns {Phrase}
 */
export function errorInWords(error) {
  if (!error || error.margin >= UNCERTAIN) return estimateInWords(error);
  return phrase("{range} wrong", { range: shareRange(error) });
}

/**
 * Write a number with some digits and never with an exponent.
 *
 * @type {(value: number, digits: number, language?: string) => string}
 */
export const significant = (value, digits, language = "en") =>
  value.toLocaleString(language, { maximumSignificantDigits: digits });

/**
 * @param {"sample" | "check-in" | "person"} noun
 * @param {number} n
 */
export function countOf(noun, n) {
  if (noun === "person") return n === 1 ? phrase("1 person") : phrase("{n} people", { n });
  if (noun === "sample") return n === 1 ? phrase("1 sample") : phrase("{n} samples", { n });
  return n === 1 ? phrase("1 check-in") : phrase("{n} check-ins", { n });
}
