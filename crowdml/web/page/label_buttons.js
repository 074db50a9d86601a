/** Show the answers to choose from: recent ones first, with a search if there are many. */

import { byId, input, make, put } from "./elements.js";
import { say } from "./say.js";

/** @import { Device } from "../index.js" */

/** More answers than fit on a phone's screen get a search field. */
const MOST_WITHOUT_SEARCH = 12;
/** The letters that fit into a button on one line. */
const BUTTON_LETTERS = 14;
/** The key in localStorage of the answers that were given, the newest first. */
const RECENT_KEY = "crowdml recent answers ";

export class LabelButtons {
  #key;
  #labels;
  /** @type {HTMLButtonElement[]} By label. */
  #buttons;

  /**
   * @param {Device} device
   * @param {(label: number) => void} chosen
   */
  constructor(device, chosen) {
    this.#key = RECENT_KEY + device.identity.device;
    this.#labels = device.terms.target.labels;
    this.#buttons = this.#labels.map((label, k) => {
      const button = make("button", make("span", label));
      button.type = "button";
      button.addEventListener("click", () => this.#choose(k, chosen));
      return button;
    });
    byId("labels").style.setProperty("--longest", String(lettersPerColumn(this.#labels)));
    byId("find-label").hidden = this.#labels.length <= MOST_WITHOUT_SEARCH;
    input("label-search").addEventListener("input", () => this.#filter());
    this.#arrange();
  }

  /** @type {(label: number | null, disabled: boolean) => void} */
  render(label, disabled) {
    for (const [k, button] of this.#buttons.entries()) {
      button.setAttribute("aria-pressed", String(label === k));
      button.disabled = disabled;
    }
  }

  focus() {
    const first = byId("labels").querySelector("button:not([hidden])");
    if (first instanceof HTMLElement) first.focus();
  }

  /** Erase the recent answers from the browser. */
  forget() {
    localStorage.removeItem(this.#key);
  }

  /** @type {(label: number, chosen: (label: number) => void) => void} */
  #choose(label, chosen) {
    const recent = [label, ...this.#recent.filter((each) => each !== label)];
    localStorage.setItem(this.#key, JSON.stringify(recent.slice(0, MOST_WITHOUT_SEARCH)));
    chosen(label);
    // Buttons must not move under a thumb, unless the search has moved them anyway.
    if (!input("label-search").value) return;
    input("label-search").value = "";
    this.#filter();
    this.#arrange();
    this.#buttons[label]?.focus();
  }

  /** @returns {number[]} */
  get #recent() {
    return JSON.parse(localStorage.getItem(this.#key) ?? "[]");
  }

  #arrange() {
    const all = [...this.#recent, ...this.#labels.keys()];
    byId("labels").replaceChildren(...[...new Set(all)].flatMap((k) => this.#buttons[k] ?? []));
  }

  #filter() {
    const wanted = input("label-search").value.trim().toLocaleLowerCase();
    for (const [k, button] of this.#buttons.entries()) {
      button.hidden = !this.#labels[k]?.toLocaleLowerCase().includes(wanted);
    }
    const n = this.#buttons.filter(({ hidden }) => !hidden).length;
    put("found-labels", wanted ? say("{n} of {all} answers", { n, all: this.#labels.length }) : "");
  }
}

/**
 * Return the letters that a column must have room for: every word, and short labels as a whole.
 *
 * @param {readonly string[]} labels
 */
function lettersPerColumn(labels) {
  const words = labels.flatMap((label) => label.split(/\s+/));
  const whole = labels.map(({ length }) => Math.min(length, BUTTON_LETTERS));
  return Math.max(1, ...whole, ...words.map(({ length }) => length));
}
