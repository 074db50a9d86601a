/** Check values from a server, which is not trusted to send valid ones. */

import { InvalidInput } from "../errors.js";
import { phrase } from "../phrase.js";

/** @import { Fields, Phrase, Rule } from "../types.js" */

const WHOLE = phrase("the text");

/** @type {(low: number, high: number) => Rule<number>} */
export const number = (low, high) => (value, path) =>
  typeof value === "number" && value >= low && value <= high
    ? value
    : fail("a number {low} … {high}", path, value, { low, high });

/** @type {(low: number, high: number) => Rule<number>} */
export const integer = (low, high) => (value, path) =>
  Number.isInteger(number(low, high)(value, path))
    ? /** @type {number} */ (value)
    : fail("a whole number", path, value);

/** ε in the terms of a mechanism. */
export const EPSILON = number(1e-6, 1e6);

/** @type {Rule<boolean>} */
export const flag = (value, path) =>
  typeof value === "boolean" ? value : fail("true or false", path, value);

/**
 * @param {number} shortest
 * @param {number} longest In characters, not in UTF-16 units.
 * @returns {Rule<string>}
 */
export const text = (shortest, longest) => (value, path) => {
  if (typeof value !== "string") return fail("a text", path, value);
  const length = [...value].length;
  const fits = length >= shortest && length <= longest;
  if (fits) return value;
  return fail("{shortest} … {longest} characters long", path, value, { shortest, longest });
};

/** @type {<S extends string>(...words: readonly S[]) => Rule<S>} */
export const oneOf = (...words) => (value, path) =>
  words.find((word) => word === value) ??
  fail("one of {words}", path, value, { words: words.join(", ") });

/** @type {<T>(rule: Rule<T>, most: number) => Rule<readonly T[]>} */
export const list = (rule, most) => (value, path) =>
  Array.isArray(value) && value.length <= most
    ? value.map((entry, i) => rule(entry, `${path}[${i}]`))
    : fail("a list of at most {most}", path, value, { most });

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
 * Require an object with exactly these fields: terms that say more than the device understands must
 * not be agreed to.
 *
 * @type {<F extends Record<string, Rule<any>>>(fields: F) => Rule<Fields<F>>}
 */
export const section = (fields) => (value, path) => {
  const found = answer(fields)(value, path);
  for (const name of Object.keys(/** @type {object} */ (value))) {
    if (!Object.hasOwn(fields, name)) {
      const field = name.slice(0, 40);
      throw new InvalidInput("{path} has the unknown field {field}.", { path: path || WHOLE, field });
    }
  }
  return found;
};

/**
 * Require an object with these fields; others are skipped, so that answers can grow.
 *
 * @type {<F extends Record<string, Rule<any>>>(fields: F) => Rule<Fields<F>>}
 */
export const answer = (fields) => (value, path) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return fail("a JSON object", path, value);
  }
  const given = /** @type {Record<string, unknown>} */ (value);
  const entries = Object.entries(fields).map(([name, rule]) => {
    const entry = Object.hasOwn(given, name) ? given[name] : undefined;
    return [name, rule(entry, path ? `${path}.${name}` : name)];
  });
  return Object.freeze(Object.fromEntries(entries));
};

/**
 * @param {string} template The rule, as what the value must be.
 * @param {string | Phrase} path
 * @param {unknown} value
 * @param {Phrase["values"]} [values]
 * @returns {never}
 */
export function fail(template, path, value, values) {
  throw new InvalidInput("{path} must be {rule}, found {found}.", {
    path: path || WHOLE,
    rule: phrase(template, values),
    found: value === undefined ? phrase("nothing") : JSON.stringify(value).slice(0, 60),
  });
}
