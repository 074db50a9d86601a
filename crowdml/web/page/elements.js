/** Find the page's elements by their ids, and write numbers as people read them. */

import { fourDigitsUp } from "../protocol/numbers_in_words.js";
import { language, phraseOf, say } from "./say.js";

/** @import { PrivacyPromise } from "../protocol/promise.js" */
/** @import { Phrase } from "../types.js" */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 */
export function element(id, kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new TypeError(`the page has no ${kind.name} with the id ${id}.`);
}

/** @param {string} id */
export const byId = (id) => element(id, HTMLElement);

/** @param {string} id */
export const input = (id) => element(id, HTMLInputElement);

/**
 * Write a text, unless it is there already: screen readers would repeat it.
 *
 * @type {(id: string, text: string) => void}
 */
export function put(id, text) {
  const found = byId(id);
  if (found.textContent !== text) found.textContent = text;
}

/**
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name
 * @param {(string | Node)[]} children
 */
export function make(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

/** @type {(head: string, ...cells: string[]) => HTMLTableRowElement} */
export function row(head, ...cells) {
  const th = make("th", head);
  th.scope = "row";
  return make("tr", th, ...cells.map((cell) => make("td", cell)));
}

let view = "consent";
const outside = document.querySelectorAll("header a, header ~ main > article > p > a");

/** @param {string} name */
export function showView(name) {
  if (name === view) return;
  view = name;
  for (const section of document.querySelectorAll("[data-views]")) {
    if (!(section instanceof HTMLElement)) continue;
    section.hidden = !section.dataset["views"]?.split(" ").includes(name);
  }
  // A stray tap must not end collecting, so links to other pages open in a new tab.
  for (const link of outside) {
    if (link instanceof HTMLAnchorElement) link.target = name === "running" ? "_blank" : "";
  }
  document.body.classList.toggle("busy", name === "running");
  byId(`${name}-title`).focus();
}

/** @type {(value: number, digits: number) => string} */
export function number(value, digits) {
  const style = { maximumSignificantDigits: digits, useGrouping: false };
  return value.toLocaleString(language, style);
}

/** @param {number} value */
export const count = (value) => value.toLocaleString(language);

/** @param {number} value ε. */
export const epsilon = (value) =>
  fourDigitsUp(value).toLocaleString(language, { maximumSignificantDigits: 4 });

/** @type {(id: string, promise: PrivacyPromise) => void} */
export function showLevel(id, { level: { key, pill } }) {
  put(id, say(pill));
  byId(id).className = `level level-${key}`;
}

/**
 * Write sentences, a paragraph each, unless they are there already.
 *
 * @type {(id: string, phrases: readonly Phrase[]) => void}
 */
export function putAll(id, phrases) {
  const paragraphs = phrases.map((phrase) => make("p", say(phrase)));
  const texts = paragraphs.map(({ textContent }) => textContent).join("");
  if (byId(id).textContent !== texts) byId(id).replaceChildren(...paragraphs);
}

/**
 * Write a duration in whole words, because a short form may end with a full stop; a short one more
 * finely, because check-ins multiply its rounding.
 *
 * @param {number} seconds
 */
export function durationText(seconds) {
  const amount = (/** @type {number} */ n, /** @type {string} */ unit) =>
    n.toLocaleString(language, { style: "unit", unit, unitDisplay: "long" });
  const minutes = Math.round(seconds / 60);
  if (seconds < 10) return amount(Math.max(1, Math.round(10 * seconds)) / 10, "second");
  if (seconds < 90) return amount(Math.round(seconds), "second");
  if (seconds < 600) return amount(Math.round(seconds / 30) / 2, "minute");
  if (minutes < 120) return amount(minutes, "minute");
  if (minutes >= 48 * 60) return amount(Math.round(minutes / 1440), "day");
  const rest = minutes % 60;
  const hours = amount(Math.floor(minutes / 60), "hour");
  return rest > 1 ? `${hours} ${amount(rest, "minute")}` : hours;
}

/** @param {unknown} error */
export function showError(error) {
  put("trouble", say(phraseOf(error)));
  byId("trouble").hidden = false;
  put("loading", "");
}
