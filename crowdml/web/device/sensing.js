/** Turn a sensor's readings into samples, as the task's terms describe it. */

import { GAP_SECONDS, GAP_TICKS } from "../protocol/sensor.js";

/** @import { Sensor, TakenSample } from "../types.js" */

const FLOOR = 2 ** -40;

/**
 * Collect samples from readings and labels in the order of time.
 *
 * There are `rate` ticks a second from the first reading on. A tick uses the newest reading at its
 * time, and is made when a later reading arrives. A gap, or a new label, starts a new window.
 */
export class Sensing {
  #sensor;
  #count;
  /** @type {number[]} */
  #window = [];
  #start = NaN;
  #ticks = 0;
  #reading = NaN;
  /** @type {number | null} */
  #label = null;
  #newest = -Infinity;
  #lastTime = -Infinity;
  /** @type {number | null} */
  #lastLabel = null;

  /**
   * @param {Sensor} sensor
   * @param {number} count The number of features.
   */
  constructor(sensor, count) {
    this.#sensor = sensor;
    this.#count = count;
  }

  /** @type {(time: number, label: number) => void} The last sample, taken before this began. */
  recall(time, label) {
    this.#lastTime = time;
    this.#lastLabel = label;
  }

  /** Seconds until the next sample, if the label stays; not finite before there is a reading. */
  get wait() {
    const { every, window, rate } = this.#sensor;
    const full = (window - this.#window.length) / rate;
    return Math.max(this.#lastTime + every - this.#newest, full);
  }

  /** Interrupt the readings: the next reading starts a new window, however soon it comes. */
  interrupt() {
    this.#window = [];
    this.#newest = -Infinity;
  }

  /**
   * Add a reading, with null for an unknown label, and return the samples that it completes.
   *
   * A reading that is not a finite number, or not newer than the last one, is skipped.
   *
   * @param {number} time In seconds.
   * @param {number} reading
   * @param {number | null} label
   */
  push(time, reading, label) {
    if (!Number.isFinite(reading) || !(time > this.#newest)) return [];
    const { rate } = this.#sensor;
    /** @type {TakenSample[]} */
    const taken = [];
    if (time - this.#newest > Math.max(GAP_SECONDS, GAP_TICKS / rate)) {
      this.#window = [];
      this.#start = time;
      this.#ticks = 0;
    } else {
      for (let tick = this.#tickTime(); tick < time; tick = this.#tickTime()) {
        this.#ticks++;
        taken.push(...this.#tick(tick));
      }
    }
    if (label !== this.#label) this.#window = [];
    this.#newest = time;
    this.#reading = reading;
    this.#label = label;
    return taken;
  }

  #tickTime() {
    return this.#start + this.#ticks / this.#sensor.rate;
  }

  /** @param {number} time */
  #tick(time) {
    const sensor = this.#sensor;
    const label = this.#label;
    this.#window.push(this.#reading);
    if (this.#window.length > sensor.window) this.#window.shift();
    const due = this.#window.length === sensor.window && time - this.#lastTime >= sensor.every;
    const changed = sensor.trigger === "always" || label !== this.#lastLabel;
    if (label === null || !due || !changed) return [];
    this.#lastTime = time;
    this.#lastLabel = label;
    const window = [...this.#window];
    return [{ time, window, x: featuresOf(sensor, this.#count, window), y: label }];
  }
}

/**
 * Compute x from one window of readings, or from the numbers entered.
 *
 * Paper: Section V-B.
 *
 * @type {(sensor: Sensor, count: number, window: readonly number[]) => Float64Array<ArrayBuffer>}
 */
export function featuresOf(sensor, count, window) {
  switch (sensor.transform) {
    case "values":
      return Float64Array.from(window, (value) => value / sensor.scale);
    case "summary":
      return summary(window).map((value) => value / sensor.scale);
    case "amplitudes":
    case "spectrum": {
      const bins = spectrum(window, count).map(withoutRounding(window));
      bins[0] = (bins[0] ?? 0) * sensor.first_bin;
      const divisor = sensor.transform === "spectrum" ? sum(bins) : sensor.scale;
      return divisor > 0 ? bins.map((value) => value / divisor) : bins;
    }
  }
}

/**
 * Return 0 for what rounding alone could cause: a constant window has one bin.
 *
 * @param {readonly number[]} window
 */
function withoutRounding(window) {
  const floor = window.reduce((most, value) => Math.max(most, Math.abs(value)), 0) * FLOOR;
  return (/** @type {number} */ bin) => (bin < floor * window.length ? 0 : bin);
}

/** @param {readonly number[]} values */
function summary(values) {
  const mean = sum(values) / values.length;
  const variance = sum(values.map((value) => (value - mean) ** 2)) / values.length;
  const smallest = values.reduce((a, b) => Math.min(a, b), Infinity);
  const largest = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return Float64Array.of(mean, Math.sqrt(variance), smallest, largest);
}

/**
 * Return the absolute values of the first bins of the discrete Fourier transform.
 *
 * @type {(values: readonly number[], count: number) => Float64Array<ArrayBuffer>}
 */
function spectrum(values, count) {
  const n = values.length;
  const angles = values.map((_, j) => (2 * Math.PI * j) / n);
  const cos = angles.map(Math.cos);
  const sin = angles.map(Math.sin);
  return Float64Array.from({ length: count }, (_, bin) => {
    let real = 0;
    let imaginary = 0;
    for (let j = 0; j < n; j++) {
      const turn = (j * bin) % n;
      const value = /** @type {number} */ (values[j]);
      real += value * /** @type {number} */ (cos[turn]);
      imaginary += value * /** @type {number} */ (sin[turn]);
    }
    return Math.hypot(real, imaginary);
  });
}

/** @param {readonly number[] | Float64Array} values */
function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
