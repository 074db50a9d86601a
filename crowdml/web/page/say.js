/**
 * The page's language: English texts are their own keys. In another language, the page carries a
 * catalogue of them in its element #catalogue.
 */

/** @type {Record<string, string>} */
const catalogue = JSON.parse(document.getElementById("catalogue")?.textContent ?? "{}");

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
  return found.replace(/\{(\w+)\}/g, (name, key) => String(values[key] ?? name));
}
