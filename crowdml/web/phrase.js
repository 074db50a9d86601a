/** A sentence as an English template and its values, which any language can write. */

/** @import { Phrase } from "./types.js" */

/**
 * @param {string} template
 * @param {Phrase["values"]} [values]
 * @returns {Phrase}
 */
export const phrase = (template, values = {}) => ({ template, values });

/**
 * Write a phrase in a language; templates that its catalogue lacks stay English.
 *
 * @param {Phrase} phrase
 * @param {ReadonlyMap<string, string>} [catalogue]
 * @param {string} [language]
 * @returns {string}
 */
export function write({ template, values }, catalogue, language = "en") {
  return (catalogue?.get(template) ?? template).replace(/\{(\w+)\}/g, (name, key) => {
    // A server may name anything, also what every object inherits.
    const value = (Object.hasOwn(values, key) ? values[key] : undefined) ?? name;
    if (typeof value === "object") return write(value, catalogue, language);
    const digits = Number.isInteger(value) ? {} : { maximumSignificantDigits: 6 };
    return value.toLocaleString(language, digits);
  });
}
