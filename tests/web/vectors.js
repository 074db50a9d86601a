/** The vectors that the Python package wrote. */

import { readFileSync } from "node:fs";

/** @import { Level } from "../../crowdml/web/types.js" */

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

/** Chance from lists: draws and an id as given, noise in the order of the releases. */
export class GivenChance {
  #noise;
  #draws;
  #id;
  /** @type {Level[]} */
  levels = [];

  /**
   * @param {Record<string, number[]>} noise
   * @param {number[]} [draws]
   * @param {string} [id]
   */
  constructor(noise, draws = [], id = "") {
    this.#noise = Object.values(noise);
    this.#draws = draws;
    this.#id = id;
  }

  below() {
    return this.#draws.shift() ?? NaN;
  }

  token() {
    return this.#id;
  }

  /**
   * @param {readonly number[]} values
   * @param {Level} level
   */
  addLaplace(values, level) {
    this.levels.push(level);
    const noise = this.#noise.shift() ?? [];
    return values.map((value, j) => value + (noise[j] ?? NaN));
  }
}
