/** Old and new terms side by side: what would change if the participant agreed. */

import { any, complain, element, put, row } from "./elements.js";

/** @import { Device } from "../index.js" */

export class Comparison {
  #device;
  /** The hash of the terms on the screen. */
  #shown = "";

  /**
   * @param {Device} device
   * @param {() => void} agreed Called when the participant has agreed.
   */
  constructor(device, agreed) {
    this.#device = device;
    any("agree-again").addEventListener("click", async () => {
      try {
        const terms = await device.agree(this.#shown);
        // The new cost of a sample was on the screen: agreeing to it is allowing it.
        await device.setLimits({ ...device.identity.limits, perSample: terms.epsilonPerSample });
        agreed();
      } catch (error) {
        complain(error);
      }
    });
    any("look-again").addEventListener("click", () => this.render());
  }

  async render() {
    const agree = element("agree-again", HTMLButtonElement);
    agree.disabled = true;
    any("look-again").hidden = true;
    try {
      const { terms, termsSha256 } = await this.#device.currentTerms();
      const old = flatten(JSON.parse(this.#device.terms.text));
      const asked = flatten(JSON.parse(terms.text));
      const names = [...new Set([...old.keys(), ...asked.keys()])];
      const rows = (/** @type {boolean} */ same) =>
        names
          .filter((name) => (old.get(name) === asked.get(name)) === same)
          .map((name) => row(name, words(old.get(name)), words(asked.get(name))));
      any("changed").replaceChildren(...rows(false));
      any("unchanged").replaceChildren(...rows(true));
      put("new-sha256", termsSha256);
      put("new-terms", terms.text);
      this.#shown = termsSha256;
      agree.disabled = false;
    } catch (error) {
      any("look-again").hidden = false;
      complain(error);
    }
  }
}

/**
 * @param {unknown} value
 * @param {string} [path]
 * @returns {Map<string, string>}
 */
function flatten(value, path = "") {
  const nested = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!nested) return new Map([[path, JSON.stringify(value)]]);
  const entries = Object.entries(value).flatMap(([name, inner]) => [
    ...flatten(inner, path ? `${path}.${name}` : name),
  ]);
  return new Map(entries);
}

/**
 * A value for people: numbers without the tail that arithmetic leaves.
 *
 * @param {string | undefined} json
 */
function words(json) {
  const value = json === undefined ? "–" : JSON.parse(json);
  if (typeof value === "number") return String(Number(value.toPrecision(9)));
  return Array.isArray(value) ? value.join(", ") : String(value);
}
