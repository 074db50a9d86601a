/** The vectors that the Python package wrote. */

import { readFileSync } from "node:fs";

/**
 * @param {string} name
 * @returns {{input: any, output: any}[]}
 */
export function vectors(name) {
  const file = new URL(`../vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8"));
}

/** @param {number | "inf"} value */
export function asNumber(value) {
  return value === "inf" ? Infinity : value;
}

/** Noise from a list, in the order of the releases. */
export class GivenNoise {
  #noise;
  /** @type {import("../../crowdml/web/types.js").Level[]} */
  levels = [];

  /** @param {Record<string, number[]>} noise */
  constructor(noise) {
    this.#noise = Object.values(noise);
  }

  /**
   * @param {readonly number[]} values
   * @param {import("../../crowdml/web/types.js").Level} level
   */
  addLaplace(values, level) {
    this.levels.push(level);
    const noise = this.#noise.shift() ?? [];
    return values.map((value, j) => value + (noise[j] ?? NaN));
  }
}
