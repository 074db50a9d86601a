/** Hold a sentence as an English template and its values, which any language can write. */

/** @import { Phrase, Translate } from "./types.js" */

/** @type {(template: string, values?: Phrase["values"]) => Phrase} */
export const phrase = (template, values = {}) => ({ template, values });

/**
 * Write a phrase, in English unless it is translated.
 *
 * @param {Phrase} phrase
 * @param {Translate} [translate] The template in another language.
 * @param {string} [language] The language that numbers are written in.
 * @returns {string}
 */
export function write({ template, values }, translate = (text) => text, language = "en") {
  return translate(template, values).replace(/\{(\w+)\}/g, (name, key) => {
    // A server may name anything, including what every object inherits.
    const value = (Object.hasOwn(values, key) ? values[key] : undefined) ?? name;
    if (typeof value === "object") return write(value, translate, language);
    return typeof value === "number" ? written(value, language) : value;
  });
}

/** @type {(value: number, language: string) => string} */
function written(value, language) {
  const digits = Number.isInteger(value) ? {} : { maximumSignificantDigits: 6 };
  const [mantissa, exponent] = String(Number(value.toPrecision(6))).split("e");
  if (!exponent) return value.toLocaleString(language, digits);
  return `${Number(mantissa).toLocaleString(language, digits)}e${exponent}`;
}
