/**
 * The page's language: English texts are their own keys. In another language, the page carries a
 * catalogue of them in its element #catalogue.
 */

/** @type {Record<string, string>} */
const catalogue = JSON.parse(document.getElementById("catalogue")?.textContent ?? "{}");

const NAMES = /\{(\w+)\}/g;
/** A text with fewer letters of its own fits anything. */
const TELLING = 14;

/** The language of the page, for numbers. */
export const language = document.documentElement.lang || "en";

/**
 * A text in the language of the page, with its {names} replaced.
 *
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function say(text, values = {}) {
  const found = catalogue[text] ?? text;
  return found.replace(NAMES, (name, key) => String(values[key] ?? name));
}

/**
 * What the device or the server says, which know English only: told by the texts that it fits.
 *
 * @param {string} message
 * @returns {string}
 */
export function understood(message) {
  if (catalogue[message] !== undefined) return say(message);
  for (const text of Object.keys(catalogue)) {
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
