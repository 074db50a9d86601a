/** Show the privacy ledger: what was revealed so far, and how much more is allowed. */

import { limitsOf, lossOf } from "../index.js";
import { secondsPerCheckin } from "./collection_time.js";
import { byId, durationText, element, epsilon, input, put, putAll, showLevel } from "./elements.js";
import { say } from "./say.js";

/** @import { Device, Loss } from "../index.js" */

export class Budget {
  #device;
  #edited = false;
  /** @type {Loss[]} What the check-ins so far have cost. */
  #sent = [];

  /**
   * @param {Device} device
   * @param {() => Promise<void>} onChange Called when the limit is another.
   */
  constructor(device, onChange) {
    this.#device = device;
    const setLimit = async (/** @type {number} */ checkins) => {
      const { perDevice } = limitsOf(device.terms, checkins);
      await device.setLimits({ ...device.identity.limits, perDevice });
      this.#edited = false;
      byId("more").hidden = false;
      await onChange();
    };
    const { unit } = device.terms.mechanism();
    for (const section of document.querySelectorAll(".ledger [data-unit]")) {
      if (section instanceof HTMLElement) section.hidden = section.dataset["unit"] !== unit;
    }
    input("limit").max = String(this.#mostCheckins);
    input("limit").addEventListener("input", () => {
      this.#edited = true;
      this.#renderCost();
    });
    byId("stay-stopped").addEventListener("click", () => {
      byId("more").hidden = true;
      byId("running-title").focus();
    });
    byId("limit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      setLimit(input("limit").valueAsNumber);
    });
    byId("raise").addEventListener("click", async () => {
      setLimit(await this.#raisedCheckins());
    });
  }

  /** The most check-ins that the terms allow. */
  get #mostCheckins() {
    return this.#device.terms.mostCheckins;
  }

  /** The most check-ins that the participant allows. */
  get #allowedCheckins() {
    return this.#device.terms.checkinsWithin(this.#device.identity.limits.perDevice);
  }

  async render() {
    const ledger = await this.#device.ledger();
    const { terms } = this.#device;
    this.#sent = ledger.events.map(lossOf);
    const promise = terms.promise(this.#allowedCheckins, this.#sent);
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
    byId("limit-form").hidden = promise.exact || this.#mostCheckins === 1;
    if (!promise.exact) await this.#renderLimit(used);
  }

  /** Return the limit after allowing one more check-in, counted from what is sent already. */
  async #raisedCheckins() {
    const { terms } = this.#device;
    const made = terms.checkinsWithin((await this.#device.ledger()).epsilonSpent);
    return Math.min(Math.max(this.#allowedCheckins, made) + 1, this.#mostCheckins);
  }

  /** @param {number} used ε so far. */
  async #renderLimit(used) {
    if (!this.#edited) input("limit").valueAsNumber = this.#allowedCheckins;
    this.#renderCost();
    const raised = await this.#raisedCheckins();
    const more = raised > this.#allowedCheckins;
    byId("raise").hidden = !more;
    put("raise", say("Allow 1 more check-in"));
    put("more-cost", more ? this.#priceText(used, raised) : "");
    put("more-time", more ? this.#timeText() : "");
  }

  /** Say what the number in the field would cost, unless it is the limit that the ledger shows. */
  #renderCost() {
    const checkins = Math.max(1, Math.floor(input("limit").valueAsNumber) || 1);
    put("limit-cost", checkins === this.#allowedCheckins ? "" : this.#lossText(checkins));
  }

  /**
   * @param {number} used ε so far.
   * @param {number} checkins
   */
  #priceText(used, checkins) {
    const values = {
      used: epsilon(used),
      epsilon: epsilon(limitsOf(this.#device.terms, checkins).perDevice),
    };
    const costs = say("One more check-in reveals more: ε = {epsilon} in total instead of {used}.", values);
    const promise = this.#device.terms.promise(checkins, this.#sent);
    if (!promise.forAReading) return `${costs} ${this.#lossText(checkins)}`;
    const reading = { epsilon: epsilon(promise.epsilonPerReading) };
    return `${costs} ${say("For one reading of your sensor it is at most ε = {epsilon}, however many check-ins you allow.", reading)}`;
  }

  /** @param {number} checkins */
  #lossText(checkins) {
    const { level, sentences } = this.#device.terms.promise(checkins, this.#sent);
    return `${say(level.pill)}. ${say(sentences.loss)}`;
  }

  #timeText() {
    const seconds = secondsPerCheckin(this.#device.terms);
    return seconds ? say("One more check-in takes about {time}.", { time: durationText(seconds) }) : "";
  }
}
