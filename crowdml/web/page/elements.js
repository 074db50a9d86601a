/** The page's elements, by their ids. */

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
export const any = (id) => element(id, HTMLElement);

/** @param {string} id */
export const input = (id) => element(id, HTMLInputElement);

/**
 * Write a text, unless it is there already: screen readers would read it again.
 *
 * @param {string} id
 * @param {string} text
 */
export function put(id, text) {
  const found = any(id);
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

/**
 * @param {string} head
 * @param {string[]} cells
 */
export function row(head, ...cells) {
  const th = make("th", head);
  th.scope = "row";
  return make("tr", th, ...cells.map((cell) => make("td", cell)));
}

let view = "consent";

/** @param {string} name */
export function show(name) {
  if (name === view) return;
  view = name;
  for (const part of document.querySelectorAll("[data-views]")) {
    if (!(part instanceof HTMLElement)) continue;
    part.hidden = !part.dataset["views"]?.split(" ").includes(name);
  }
  any(`${name}-title`).focus();
}

/** @param {number} value ε. */
export function epsilon(value) {
  return value === Infinity ? "∞" : String(Number(value.toPrecision(4)));
}

/**
 * How sure someone with a fifty-fifty guess can become.
 *
 * @param {number} epsilon ε.
 * @param {number} delta δ.
 */
export function sure(epsilon, delta) {
  if (epsilon === Infinity) return "entirely sure";
  const share = (100 / (1 + Math.exp(-epsilon))).toFixed(1);
  const odds = Math.round(1 / delta).toLocaleString("en");
  return `at most ${share} % sure${delta ? `, but for a chance of one in ${odds}` : ""}`;
}

/** @param {unknown} error */
export function complain(error) {
  put("trouble", error instanceof Error ? error.message : String(error));
  any("trouble").hidden = false;
}
