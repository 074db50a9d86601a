/** Rules for values that came from a server, which is not trusted to be well-formed. */

import { InvalidInput } from "./errors.js";

/** @import { Fields, Rule } from "./types.js" */

/**
 * @param {number} low
 * @param {number} high
 * @returns {Rule<number>}
 */
export const number = (low, high) => (value, path) =>
  typeof value === "number" && value >= low && value <= high
    ? value
    : fail(path, `a number ${low} … ${high}`, value);

/**
 * @param {number} low
 * @param {number} high
 * @returns {Rule<number>}
 */
export const integer = (low, high) => (value, path) =>
  Number.isInteger(number(low, high)(value, path))
    ? /** @type {number} */ (value)
    : fail(path, "a whole number", value);

/** @type {Rule<boolean>} */
export const flag = (value, path) =>
  typeof value === "boolean" ? value : fail(path, "true or false", value);

/**
 * @param {number} shortest
 * @param {number} longest In characters, not in UTF-16 units.
 * @returns {Rule<string>}
 */
export const text = (shortest, longest) => (value, path) => {
  if (typeof value !== "string") return fail(path, "a text", value);
  const length = [...value].length;
  const fits = length >= shortest && length <= longest;
  return fits ? value : fail(path, `${shortest} … ${longest} characters long`, value);
};

/**
 * @template {string} S
 * @param {readonly S[]} words
 * @returns {Rule<S>}
 */
export const oneOf = (...words) => (value, path) =>
  words.find((word) => word === value) ?? fail(path, `one of ${words.join(", ")}`, value);

/**
 * @template T
 * @param {Rule<T>} rule
 * @param {number} most
 * @returns {Rule<readonly T[]>}
 */
export const list = (rule, most) => (value, path) =>
  Array.isArray(value) && value.length <= most
    ? value.map((entry, i) => rule(entry, `${path}[${i}]`))
    : fail(path, `a list of at most ${most}`, value);

/**
 * @template T
 * @template const S
 * @param {S} standard Stands in for a value that is missing.
 * @param {Rule<T>} rule
 * @returns {Rule<T | S>}
 */
export const otherwise = (standard, rule) => (value, path) =>
  value === undefined || value === standard ? standard : rule(value, path);

/**
 * An object with these fields and no others: terms that say more than the device understands
 * must not be agreed to.
 *
 * @template {Record<string, Rule<any>>} F
 * @param {F} fields
 * @returns {Rule<Fields<F>>}
 */
export const section = (fields) => (value, path) => {
  const found = answer(fields)(value, path);
  for (const name of Object.keys(/** @type {object} */ (value))) {
    if (!Object.hasOwn(fields, name)) {
      throw new InvalidInput(`${path || "the text"} has the unknown field ${name.slice(0, 40)}.`);
    }
  }
  return found;
};

/**
 * An object with these fields; others are skipped, so that answers can grow.
 *
 * @template {Record<string, Rule<any>>} F
 * @param {F} fields
 * @returns {Rule<Fields<F>>}
 */
export const answer = (fields) => (value, path) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return fail(path || "the text", "a JSON object", value);
  }
  const given = /** @type {Record<string, unknown>} */ (value);
  const entries = Object.entries(fields).map(([name, rule]) => {
    const entry = Object.hasOwn(given, name) ? given[name] : undefined;
    return [name, rule(entry, path ? `${path}.${name}` : name)];
  });
  return Object.freeze(Object.fromEntries(entries));
};

/**
 * @param {string} path
 * @param {string} rule
 * @param {unknown} value
 * @returns {never}
 */
function fail(path, rule, value) {
  const found = value === undefined ? "nothing" : JSON.stringify(value)?.slice(0, 60);
  throw new InvalidInput(`${path} must be ${rule}, found ${found}.`);
}
