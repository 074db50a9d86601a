/** Predict with the crowd's newest model, which is checked out again from time to time. */

import { scaledFeatures } from "../index.js";
import { number } from "./elements.js";
import { say } from "./say.js";

/** @import { Device } from "../index.js" */

const REFRESH_SECONDS = 30;

export class CrowdModel {
  #device;
  #model;
  #next = 0;
  /** @type {Float64Array | undefined} */
  #w;

  /** @param {Device} device */
  constructor(device) {
    this.#device = device;
    this.#model = device.terms.makeModel();
  }

  /** The seconds until the server is asked again. */
  get wait() {
    return Math.max(0, this.#next - performance.now()) / 1000;
  }

  async refresh() {
    if (performance.now() < this.#next) return false;
    this.#next = performance.now() + REFRESH_SECONDS * 1000;
    this.#w = await this.#device.parameters();
    return true;
  }

  /** @param {Float64Array} x */
  predictionText(x) {
    const w = this.#w;
    if (!w || w.every((value) => value === 0)) return say("no guess yet");
    const { norm } = this.#device.terms.mechanism();
    const y = this.#model.predict(w, scaledFeatures(this.#device.terms.features, x, norm));
    const { labels, unit } = this.#device.terms.target;
    return labels[y] ?? `${number(y, 3)} ${unit}`.trimEnd();
  }
}
