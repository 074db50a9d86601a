/** Enforce ‖x‖ ≤ 1 on the device, whatever the caller does. */

import { InvalidSample } from "../errors.js";

/** A real target beyond this is a wrong unit, and sums of floats would lose precision. */
const LARGEST_TARGET = 1e12;

/**
 * Smaller numbers count as 0: their products could be so close to 0 that processors take longer for
 * them, and the time would reveal who has such samples.
 */
const SMALLEST_VALUE = 2 ** -60;

/** @import { Norm } from "../types.js" */

/**
 * Return x, rescaled to ‖x‖ = 1 if it is longer; throw if it is not D finite numbers.
 *
 * @param {ArrayLike<number>} x
 * @param {number} nFeatures D.
 * @param {Norm} norm
 */
export function boundFeatures(x, nFeatures, norm) {
  const numbers = typeof x === "object" && x !== null ? Array.from(x) : [];
  if (numbers.length !== nFeatures || !numbers.every((value) => typeof value === "number")) {
    const found = numbers.length || typeof x;
    throw new InvalidSample("x must be {n} numbers, found {found}.", { n: nFeatures, found });
  }
  let features = Float64Array.from(numbers);
  if (!features.every(Number.isFinite)) {
    throw new InvalidSample("x must be finite numbers, found NaN or Infinity. Drop such samples.");
  }
  const largest = features.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest > 1e150) features = features.map((value) => value / largest);
  const length = Math.max(1, lengthOf(features, norm));
  return features.map((value) => withoutTiny(value / length));
}

/**
 * Check a label 0 … C−1, or a finite real target where there are no classes.
 *
 * @param {unknown} y
 * @param {number} nClasses C, or 0.
 */
export function checkTarget(y, nClasses) {
  const value = typeof y === "number" ? y : NaN;
  const valid = nClasses
    ? Number.isInteger(value) && value >= 0 && value < nClasses
    : Math.abs(value) <= LARGEST_TARGET;
  if (valid) return withoutTiny(value);
  const most = nClasses ? nClasses - 1 : LARGEST_TARGET;
  const found = String(y).slice(0, 40);
  throw nClasses
    ? new InvalidSample("y must be a label 0 … {most}, found {found}.", { most, found })
    : new InvalidSample("y must be a number within ±{most}, found {found}.", { most, found });
}

/**
 * Return the number of a label, or a real target where there are no labels.
 *
 * A label is known by its name alone, never by its place in the list. Names that are numbers are
 * matched as text: 1 is the label "1".
 *
 * @param {unknown} y
 * @param {readonly string[]} labels
 */
export function targetOf(y, labels) {
  if (!labels.length) return checkTarget(y, 0);
  const written = typeof y === "string" || Number.isInteger(y);
  const label = written ? labels.indexOf(String(y).trim()) : -1;
  if (label >= 0) return label;
  const known = labels.slice(0, 10).join(", ") + (labels.length > 10 ? ", …" : "");
  const found = String(y).slice(0, 40);
  throw new InvalidSample("y must be one of {known}, found {found}.", { known, found });
}

/** @param {number} value */
function withoutTiny(value) {
  return Math.abs(value) < SMALLEST_VALUE ? 0 : value;
}

/**
 * Return ‖values‖, with `more` as one further number that is not negative.
 *
 * @type {(values: ArrayLike<number>, norm: Norm, more?: number) => number}
 */
export function lengthOf(values, norm, more = 0) {
  let sum = more ** norm;
  for (let j = 0; j < values.length; j++) {
    const value = at(values, j);
    sum += norm === 1 ? Math.abs(value) : value * value;
  }
  return root(sum, norm);
}

/** @type {(values: ArrayLike<number>, index: number) => number} An entry that exists. */
export function at(values, index) {
  return /** @type {number} */ (values[index]);
}

/** @type {(value: number, norm: Norm) => number} value^(1/norm). */
export function root(value, norm) {
  return norm === 1 ? value : Math.sqrt(value);
}
