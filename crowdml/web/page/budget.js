/** Show the privacy ledger: what was revealed so far, and how much more is allowed. */

import { limitsOf, lossOf } from "../index.js";
import { secondsOf } from "./effort.js";
import { any, element, epsilon, input, put, putAll, showLevel, time } from "./elements.js";
import { say } from "./say.js";

/** @import { Device, Loss } from "../index.js" */

export class Budget {
  #device;
  #edited = false;
  /** @type {Loss[]} What the check-ins so far have cost. */
  #sent = [];

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
    for (const part of document.querySelectorAll(".ledger [data-unit]")) {
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

  /** The most check-ins that the terms allow. */
  get #most() {
    return this.#device.terms.mostCheckins;
  }

  /** The most check-ins that the participant allows. */
  get #allowed() {
    return this.#device.terms.checkinsWithin(this.#device.identity.limits.perDevice);
  }

  async render() {
    const ledger = await this.#device.ledger();
    const { terms } = this.#device;
    this.#sent = ledger.events.map(lossOf);
    const promise = terms.promise(this.#allowed, this.#sent);
    const { perDevice: limit } = this.#device.identity.limits;
    const used = ledger.epsilonSpent;
    put("per-sample", `ε = ${epsilon(ledger.epsilonPerSample)}`);
    put("per-device", say("ε = {used} of {limit}", { used: epsilon(used), limit: epsilon(limit) }));
    put("whole-device", `ε = ${epsilon(ledger.epsilonPerPerson)}`);
    putAll("limit-said", promise.whatIsLost);
    showLevel("limit-level", promise);
    const bar = element("spent", HTMLProgressElement);
    bar.max = limit === Infinity ? 1 : limit;
    bar.value = Math.min(used, bar.max);
    any("limit-form").hidden = promise.exact || this.#most === 1;
    if (!promise.exact) await this.#renderLimit(used);
  }

  /** Return the limit after allowing one more check-in, counted from what is sent already. */
  async #raised() {
    const { terms } = this.#device;
    const made = terms.checkinsWithin((await this.#device.ledger()).epsilonSpent);
    return Math.min(Math.max(this.#allowed, made) + 1, this.#most);
  }

  /** @param {number} used ε so far. */
  async #renderLimit(used) {
    if (!this.#edited) input("limit").valueAsNumber = this.#allowed;
    this.#renderCost();
    const raised = await this.#raised();
    const more = raised > this.#allowed;
    any("raise").hidden = !more;
    put("raise", say("Allow 1 more check-in"));
    put("more-cost", more ? this.#price(used, raised) : "");
    put("more-time", more ? this.#effort() : "");
  }

  /** Say what the number in the field would cost, unless it is the limit that the ledger shows. */
  #renderCost() {
    const checkins = Math.max(1, Math.floor(input("limit").valueAsNumber) || 1);
    put("limit-cost", checkins === this.#allowed ? "" : this.#loss(checkins));
  }

  /**
   * @param {number} used ε so far.
   * @param {number} checkins
   */
  #price(used, checkins) {
    const values = {
      used: epsilon(used),
      epsilon: epsilon(limitsOf(this.#device.terms, checkins).perDevice),
    };
    const costs = say("One more check-in reveals more: ε = {epsilon} in total instead of {used}.", values);
    const promise = this.#device.terms.promise(checkins, this.#sent);
    if (!promise.forAReading) return `${costs} ${this.#loss(checkins)}`;
    const reading = { epsilon: epsilon(promise.epsilonPerReading) };
    return `${costs} ${say("For one reading of your sensor it is at most ε = {epsilon}, however many check-ins you allow.", reading)}`;
  }

  /** @param {number} checkins */
  #loss(checkins) {
    const { level, sentences } = this.#device.terms.promise(checkins, this.#sent);
    return `${say(level.pill)}. ${say(sentences.loss)}`;
  }

  #effort() {
    const seconds = secondsOf(this.#device.terms);
    return seconds ? say("One more check-in takes about {time}.", { time: time(seconds) }) : "";
  }
}
