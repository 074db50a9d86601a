/** Translate templates into the language of a page, and keep numbers and signs on one line. */

/** @import { Catalogue, Translate } from "../types.js" */

/**
 * Return a function that translates. Templates without an entry stay English. Where the words depend
 * on the whole number n, the catalogue has a template for each plural form of CLDR.
 *
 * @type {(catalogue: Catalogue, language: string) => Translate}
 */
export function translator(catalogue, language) {
  return (template, { n }) => {
    const found = catalogue.get(template) ?? template;
    if (typeof found === "string") return found;
    const form = Number.isInteger(n) ? new Intl.PluralRules(language).select(Number(n)) : "other";
    return found[form] ?? found["other"] ?? "";
  };
}

const KEPT_TOGETHER = [" %", " ±", "± ", "ε = ", " →", "SHA-256"];

/**
 * Keep numbers and their signs on one line, as the server does.
 *
 * @param {string} text
 */
export const unbroken = (text) =>
  KEPT_TOGETHER.reduce((all, words) => all.replaceAll(words, withoutBreaks(words)), text);

/** @param {string} words */
const withoutBreaks = (words) => words.replaceAll(" ", "\u00a0").replaceAll("-", "\u2011");
