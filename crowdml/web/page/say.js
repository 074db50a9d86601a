/**
 * Write texts in the page's language. English texts are the keys; a page in another language has a
 * catalogue of them in its element #catalogue.
 */

import { phrase, write } from "../phrase.js";
import { translator, unbroken } from "./translate.js";

/** @import { Catalogue, Phrase } from "../types.js" */

/** @type {Catalogue} */
const catalogue = new Map(
  Object.entries(JSON.parse(document.getElementById("catalogue")?.textContent ?? "{}")),
);

/** The language of the page. */
export const language = document.documentElement.lang || "en";

const translate = translator(catalogue, language);

/**
 * Write a phrase, or a text with its {names} replaced, in the language of the page.
 *
 * @type {(text: string | Phrase, values?: Phrase["values"]) => string}
 */
export function say(text, values) {
  const said = typeof text === "string" ? phrase(text, values) : text;
  return unbroken(write(said, translate, language));
}

/**
 * Return the phrase of an error: its own if it has one, otherwise the browser's words.
 *
 * @param {any} error
 * @returns {Phrase}
 */
export function phraseOf(error) {
  return error?.phrase ?? phrase(String(error?.message ?? error));
}
