/** Public random directions that a device, in any language, and the server expand alike. */

import { at } from "../features.js";

/** @import { Place } from "../types.js" */

const MEAN = 4;
const BYTES = 4;

/**
 * k directions in d dimensions. A codeword is d small integers, each the number of ones in a
 * random byte, less 4. It need not be secret or hard to predict: privacy holds for every codebook.
 */
export class Codebook {
  #row;
  #seed;

  /**
   * @param {number} size d.
   * @param {Place["seed"]} seed
   */
  constructor(size, seed) {
    this.#row = Math.ceil(size / BYTES);
    this.#seed = seed;
  }

  /** @type {(u: Float64Array, k: number) => Float64Array<ArrayBuffer>} ⟨v_j, u⟩ for j < k. */
  scores(u, k) {
    const padded = new Float64Array(BYTES * this.#row);
    padded.set(u);
    const mean = MEAN * u.reduce((sum, value) => sum + value, 0);
    const scores = new Float64Array(k);
    for (let j = 0; j < k; j++) scores[j] = this.#weigh(padded, j) - mean;
    return scores;
  }

  /**
   * The numbers of ones in the bytes of codeword j, weighted by u.
   *
   * @param {Float64Array} u As many numbers as there are bytes.
   * @param {number} j
   */
  #weigh(u, j) {
    let sum = 0;
    let counter = j * this.#row;
    for (let i = 0; i < u.length; i += BYTES) {
      const ones = countOnes(randomWord(counter++, this.#seed));
      sum +=
        at(u, i) * (ones & 255) +
        at(u, i + 1) * ((ones >>> 8) & 255) +
        at(u, i + 2) * ((ones >>> 16) & 255) +
        at(u, i + 3) * (ones >>> 24);
    }
    return sum;
  }
}

/** @type {(counter: number, seed: Place["seed"]) => number} */
function randomWord(counter, seed) {
  return mix(mix(counter, seed[0]), seed[1]);
}

/**
 * Turn words into others, one to one, so that every bit depends on every bit and the key.
 *
 * @type {(x: number, key: number) => number}
 */
function mix(x, key) {
  x ^= key;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return x ^ (x >>> 16);
}

/**
 * Turn every byte into the number of its ones: of pairs of bits, of fours, of eights.
 *
 * @param {number} x
 */
function countOnes(x) {
  x -= (x >>> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return (x + (x >>> 4)) & 0x0f0f0f0f;
}
