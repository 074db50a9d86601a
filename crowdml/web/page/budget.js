/** The privacy ledger: what was told so far, and how much more may be. */

import { limitsOf } from "../index.js";
import { any, element, epsilon, input, put, sure } from "./elements.js";

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
      await changed();
    };
    const { unit } = device.terms.mechanism();
    for (const part of document.querySelectorAll("[data-unit]")) {
      if (part instanceof HTMLElement) part.hidden = part.dataset["unit"] !== unit;
    }
    input("limit").max = String(this.#most);
    input("limit").addEventListener("input", () => (this.#edited = true));
    any("limit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      set(input("limit").valueAsNumber);
    });
    any("raise").addEventListener("click", async () => {
      const made = device.terms.checkinsWithin((await device.ledger()).perDevice);
      set(Math.min(Math.max(this.#allowed, made) + MORE, this.#most));
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
    put("per-device", `ε = ${epsilon(used)} of ${epsilon(limit)}`);
    put("whole-device", `ε = ${epsilon(ledger.wholeDevice)}`);
    put("sure", sure(cost, delta));
    put("sure-in-all", sure(limit, delta));
    const bar = element("spent", HTMLProgressElement);
    bar.max = limit === Infinity ? 1 : limit;
    bar.value = Math.min(used, bar.max);
    any("limit-form").hidden = cost === Infinity || this.#most === 1;
    if (cost < Infinity) this.#renderLimit(cost);
  }

  /** @param {number} cost */
  #renderLimit(cost) {
    const allowed = this.#allowed;
    if (!this.#edited) input("limit").valueAsNumber = allowed;
    put("limit-epsilon", `ε = ${epsilon(cost)}`);
    const more = Math.min(MORE, this.#most - allowed);
    put("raise", `Allow ${more} more check-in${more === 1 ? "" : "s"}`);
    any("raise").hidden = more < 1;
  }
}
