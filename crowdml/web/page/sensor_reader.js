/** Read a sensor: the last seconds, the newest window, and the samples that are due. */

import { Sensing } from "../index.js";
import { SensorError, sourceOf } from "../sensors/index.js";

/** @import { Participation } from "./participation.js" */

const QUIET_SECONDS = 3;
const LIVE_SECONDS = 0.2;
const KEPT_SECONDS = 2;
/** The key in localStorage of the time and the label of the last sample. */
const LAST_SAMPLE_KEY = "crowdml last sample ";

export class SensorReader {
  /** @type {{time: number, reading: number}[]} The last seconds. */
  readings = [];
  /** @type {Float64Array | undefined} The features of the newest window. */
  x;
  /** @type {(() => void) | undefined} */
  #stop;
  #lastReadingAt = 0;
  #recalled = false;
  #participation;
  #onSample;
  #sensing;
  #live;

  /**
   * @param {Participation} participation
   * @param {(x: Float64Array, y: number) => void} onSample Called with each sample.
   */
  constructor(participation, onSample) {
    const { sensor, device } = participation;
    const { count } = device.terms.features;
    this.sensor = sensor;
    this.#participation = participation;
    this.#onSample = onSample;
    // One object for the whole visit, so that `every` and `trigger` hold across pauses.
    this.#sensing = new Sensing(sensor, count);
    this.#live = new Sensing({ ...sensor, every: LIVE_SECONDS, trigger: "always" }, count);
  }

  get sensing() {
    return this.#stop !== undefined;
  }

  get silent() {
    const quiet = Math.max(QUIET_SECONDS, 2 / this.sensor.rate);
    return this.sensing && performance.now() - this.#lastReadingAt > quiet * 1000;
  }

  /** The seconds until the next sample; undefined if none is on its way. */
  get nextSample() {
    const { wait } = this.#sensing;
    const due = this.sensing && !this.silent && this.#participation.label !== null && Number.isFinite(wait);
    return due ? Math.max(0, wait) : undefined;
  }

  /** The seconds until the first window of readings is full. */
  get untilWindow() {
    const { wait } = this.#live;
    return Number.isFinite(wait) ? Math.max(0, wait) : this.sensor.window / this.sensor.rate;
  }

  async start() {
    const source = sourceOf(this.sensor.kind);
    const release = await claim(`crowdml sensor ${this.#participation.device.identity.device}`);
    this.#lastReadingAt = performance.now();
    try {
      const stop = await source.start((time, reading) => this.#read(time, reading), this.sensor);
      this.#stop = () => {
        stop();
        release();
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  stop() {
    this.#stop?.();
    this.#stop = undefined;
    this.#sensing.interrupt();
    this.#live.interrupt();
  }

  /** @type {(time: number, reading: number) => void} */
  #read(time, reading) {
    if (!this.#participation.collecting) return;
    this.#lastReadingAt = performance.now();
    const { rate, window } = this.sensor;
    this.readings.push({ time, reading });
    const oldest = time - window / rate - KEPT_SECONDS;
    while (this.readings[0] && this.readings[0].time < oldest) this.readings.shift();
    for (const { x } of this.#live.push(time, reading, 0)) this.x = x;
    this.#recall(time);
    for (const { x, y } of this.#sensing.push(time, reading, this.#participation.label)) {
      localStorage.setItem(this.#lastSampleKey, JSON.stringify([Date.now(), y]));
      this.#onSample(x, y);
    }
  }

  get #lastSampleKey() {
    return LAST_SAMPLE_KEY + this.#participation.device.identity.device;
  }

  /**
   * Recall the last sample before the page was loaded, once, before the first reading.
   *
   * @param {number} now In the sensor's time.
   */
  #recall(now) {
    if (this.#recalled) return;
    this.#recalled = true;
    const [time, y] = JSON.parse(localStorage.getItem(this.#lastSampleKey) ?? "[]");
    if (time <= Date.now()) this.#sensing.recall(now - (Date.now() - time) / 1000, y);
  }

  /** Erase the last sample's time and label from the browser. */
  forget() {
    localStorage.removeItem(this.#lastSampleKey);
  }
}

/**
 * Claim the sensor for this tab: two tabs must not turn the same moment into two samples.
 *
 * @param {string} name
 */
function claim(name) {
  return new Promise((resolve, reject) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock) return new Promise((release) => resolve(() => release(undefined)));
      return reject(
        new SensorError("Another tab of this browser takes part. Pause there, then tap Resume."),
      );
    });
  });
}
