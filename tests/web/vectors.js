/** Read the vectors that the Python package wrote. */

import { readFileSync } from "node:fs";

/** @import { NoiseAmount } from "../../crowdml/web/types.js" */

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

/**
 * Return random numbers from lists: draws and an id as given, noise in the order of the releases. A
 * draw of 64 bits is written as text, and is two draws of 32 bits here.
 */
export class GivenChance {
  #noise;
  #draws;
  #id;
  /** @type {NoiseAmount[]} What noise was asked for. */
  amounts = [];

  /**
   * @param {Record<string, number[]>} noise
   * @param {(number | string)[]} [draws]
   * @param {string} [id]
   */
  constructor(noise, draws = [], id = "") {
    this.#noise = Object.values(noise);
    this.#draws = draws.flatMap((draw) => (typeof draw === "string" ? halves(BigInt(draw)) : draw));
    this.#id = id;
  }

  /** Draws that were not asked for. */
  get left() {
    return this.#draws.length;
  }

  /** @param {number} n */
  below(n) {
    const draw = this.#draws.shift() ?? NaN;
    if (!(draw < n)) throw new RangeError(`a draw below ${n} is asked for, given is ${draw}.`);
    return draw;
  }

  randomId() {
    return this.#id;
  }

  /**
   * @param {readonly number[]} values
   * @param {NoiseAmount} amount
   */
  addLaplace(values, amount) {
    this.amounts.push(amount);
    const noise = this.#noise.shift() ?? [];
    return values.map((value, j) => value + (noise[j] ?? NaN));
  }

  /**
   * @param {readonly number[]} values
   * @param {NoiseAmount} amount
   */
  addGaussian(values, amount) {
    return this.addLaplace(values, amount);
  }
}

/** @param {bigint} draw */
function halves(draw) {
  return [Number(draw >> 32n), Number(draw & 0xffffffffn)];
}
