/** Templates in the language of a page. */

/** @import { Catalogue, Translate } from "../types.js" */

/**
 * Templates that the catalogue lacks stay English. Where the words depend on the whole number n, it
 * has a template for each form that CLDR names.
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
