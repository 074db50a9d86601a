/**
 * The page's language: English texts are their own keys. In another language, the page carries a
 * catalogue of them in its element #catalogue.
 */

import { phrase, write } from "../phrase.js";

/** @import { Phrase } from "../types.js" */

const NAMES = /\{(\w+)\}/g;
/** A text with fewer letters of its own fits anything. */
const TELLING = 14;

/** @type {Map<string, string>} */
const catalogue = new Map(
  Object.entries(JSON.parse(document.getElementById("catalogue")?.textContent ?? "{}")),
);

/** The language of the page, for numbers. */
export const language = document.documentElement.lang || "en";

/**
 * Write a phrase, or a text with its {names} replaced, in the language of the page.
 *
 * @param {string | Phrase} text
 * @param {Phrase["values"]} [values]
 */
export function say(text, values) {
  return write(typeof text === "string" ? phrase(text, values) : text, catalogue, language);
}

/**
 * What the device or the server says, which know English only: told by the texts that it fits.
 *
 * @param {string} message
 * @returns {string}
 */
export function understood(message) {
  if (catalogue.has(message)) return say(message);
  for (const text of catalogue.keys()) {
    const found = text.replace(NAMES, "").length > TELLING && pattern(text).exec(message)?.groups;
    if (found) {
      const values = Object.entries(found).map(([name, part]) => [name, understood(part)]);
      return say(text, Object.fromEntries(values));
    }
  }
  return message;
}

/** @param {string} text */
function pattern(text) {
  const escaped = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(NAMES, "(?<$1>.+)")}$`);
}
