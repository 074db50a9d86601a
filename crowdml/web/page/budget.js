/** The privacy ledger: what was told so far, and how much more may be. */

import { limitsOf } from "../index.js";
import { secondsOf } from "./effort.js";
import { any, element, epsilon, input, put, sure, time } from "./elements.js";
import { levelOf, showLevel } from "./level.js";
import { say } from "./say.js";

/** @import { Device } from "../index.js" */

const MORE = 10;
const MOST = 1_000_000;

export class Budget {
  #device;
  #edited = false;

  /**
   * @param {Device} device
   * @param {() => Promise<void>} changed Called when the limit is another.
   */
  constructor(device, changed) {
    this.#device = device;
    const set = async (/** @type {number} */ checkins) => {
      const { perDevice } = limitsOf(device.terms, checkins);
      await device.setLimits({ ...device.identity.limits, perDevice });
      this.#edited = false;
      any("more").hidden = false;
      await changed();
    };
    const { unit } = device.terms.mechanism();
    for (const part of document.querySelectorAll("[data-unit]")) {
      if (part instanceof HTMLElement) part.hidden = part.dataset["unit"] !== unit;
    }
    input("limit").max = String(this.#most);
    input("limit").addEventListener("input", () => {
      this.#edited = true;
      this.#renderCost();
    });
    any("stay-stopped").addEventListener("click", () => {
      any("more").hidden = true;
      any("part-title").focus();
    });
    any("limit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      set(input("limit").valueAsNumber);
    });
    any("raise").addEventListener("click", async () => {
      set(await this.#raised());
    });
  }

  /** The most check-ins by the terms. */
  get #most() {
    return this.#device.terms.collection.checkins ?? MOST;
  }

  /** By the participant's limit. */
  get #allowed() {
    return this.#device.terms.checkinsWithin(this.#device.identity.limits.perDevice);
  }

  async render() {
    const ledger = await this.#device.ledger();
    const { total: cost, delta } = this.#device.terms.loss;
    const { perDevice: limit } = this.#device.identity.limits;
    const used = ledger.perDevice;
    put("per-sample", `ε = ${epsilon(ledger.perSample)}`);
    put("per-device", say("ε = {used} of {limit}", { used: epsilon(used), limit: epsilon(limit) }));
    put("whole-device", `ε = ${epsilon(ledger.wholeDevice)}`);
    put("sure", sure(cost, delta));
    for (const part of document.querySelectorAll(".sure-in-all")) {
      part.textContent = sure(limit, delta);
    }
    showLevel("limit-level", limit);
    const bar = element("spent", HTMLProgressElement);
    bar.max = limit === Infinity ? 1 : limit;
    bar.value = Math.min(used, bar.max);
    any("limit-form").hidden = cost === Infinity || this.#most === 1;
    if (cost < Infinity) await this.#renderLimit(used);
  }

  /** The limit if more is allowed: from what was made, if that is more than was allowed. */
  async #raised() {
    const made = this.#device.terms.checkinsWithin((await this.#device.ledger()).perDevice);
    return Math.min(Math.max(this.#allowed, made) + MORE, this.#most);
  }

  /** @param {number} used ε so far. */
  async #renderLimit(used) {
    if (!this.#edited) input("limit").valueAsNumber = this.#allowed;
    this.#renderCost();
    const raised = await this.#raised();
    const more = raised - this.#allowed;
    any("raise").hidden = more < 1;
    put("raise", more === 1 ? say("Allow 1 more check-in") : say("Allow {n} more check-ins", { n: more }));
    put("more-cost", more < 1 ? "" : `${this.#price(used, raised)} ${this.#effort(more)}`);
  }

  /** What the number in the field would cost. */
  #renderCost() {
    const { terms } = this.#device;
    const lost = terms.epsilonAfter(Math.max(1, input("limit").valueAsNumber || 1));
    const words = { epsilon: epsilon(lost), level: levelOf(lost).name, sure: sure(lost, terms.loss.delta) };
    put("limit-cost", say("In all: ε = {epsilon}. {level}: {sure}.", words));
  }

  /**
   * @param {number} used ε so far.
   * @param {number} checkins
   */
  #price(used, checkins) {
    const { terms } = this.#device;
    const lost = terms.epsilonAfter(checkins);
    return say("More would cost more: from ε = {used} to {epsilon} in all. {level}: {sure}.", {
      used: epsilon(used),
      epsilon: epsilon(lost),
      level: levelOf(lost).name,
      sure: sure(lost, terms.loss.delta),
    });
  }

  /** @param {number} checkins */
  #effort(checkins) {
    const seconds = secondsOf(this.#device.terms);
    return seconds ? say("That is about {time} more.", { time: time(seconds * checkins) }) : "";
  }
}
