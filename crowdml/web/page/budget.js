/** The privacy ledger: what was told so far, and how much more may be. */

import { any, element, epsilon, input, put } from "./elements.js";

/** @import { Device } from "../index.js" */

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
      await device.setLimits({ ...device.identity.limits, perDevice: checkins * this.#cost });
      this.#edited = false;
      await changed();
    };
    input("limit").addEventListener("input", () => (this.#edited = true));
    any("limit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      set(input("limit").valueAsNumber);
    });
    any("raise").addEventListener("click", async () => {
      const { perDevice } = await device.ledger();
      set(Math.max(this.#allowed, Math.round(perDevice / this.#cost)) + 10);
    });
  }

  get #cost() {
    return this.#device.terms.epsilonPerSample;
  }

  get #allowed() {
    return Math.floor(this.#device.identity.limits.perDevice / this.#cost + 1e-6);
  }

  async render() {
    const ledger = await this.#device.ledger();
    const cost = this.#cost;
    const { perDevice: limit } = this.#device.identity.limits;
    const used = ledger.perDevice;
    const sure = (100 / (1 + Math.exp(-cost))).toFixed(1);
    put("per-sample", `ε = ${epsilon(ledger.perSample)}`);
    put("per-device", `ε = ${epsilon(used)} of ${epsilon(limit)}`);
    put("whole-device", `ε = ${epsilon(ledger.wholeDevice)}`);
    put("sure", cost === Infinity ? "entirely" : `at most ${sure} %`);
    const bar = element("spent", HTMLProgressElement);
    bar.max = limit === Infinity ? 1 : limit;
    bar.value = Math.min(used, bar.max);
    if (!this.#edited && cost < Infinity) input("limit").valueAsNumber = this.#allowed;
    put("limit-epsilon", `ε = ${epsilon(cost)}`);
    any("limit-form").hidden = cost === Infinity;
  }
}
