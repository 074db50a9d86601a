/**
 * Expand public random directions, in the same way on devices in any language and on the server.
 */

import { at } from "./features.js";

/** @import { CheckinKey } from "../types.js" */

const CODE_MEAN = 4;
const WORD_BYTES = 4;

/** The largest whole number that a gradient is rounded to. */
const LARGEST_WHOLE = 2 ** 16;

/** A gradient of which every number is smaller than this is rounded to zeros. */
const SMALLEST_GRADIENT = 2 ** -500;

/**
 * Hold k directions in d dimensions. A codeword is d small integers, each the number of ones in a
 * random byte, minus 4. It need not be secret or hard to predict: privacy holds for every codebook.
 */
export class Codebook {
  #row;
  #seed;

  /**
   * @param {number} size d.
   * @param {CheckinKey["seed"]} seed
   */
  constructor(size, seed) {
    this.#row = Math.ceil(size / WORD_BYTES);
    this.#seed = seed;
  }

  /**
   * Compute ⟨v_j, whole⟩ for j < k, exactly, in a time that depends on d and k alone.
   *
   * @param {Float64Array} whole d whole numbers of at most 2¹⁶, so that sums stay below 2⁵³.
   * @param {number} k
   */
  scores(whole, k) {
    const padded = new Float64Array(WORD_BYTES * this.#row);
    padded.set(whole);
    const mean = CODE_MEAN * whole.reduce((sum, value) => sum + value, 0);
    const scores = new Float64Array(k);
    for (let j = 0; j < k; j++) scores[j] = this.#weigh(padded, j) - mean;
    return scores;
  }

  /**
   * Sum the numbers of ones in the bytes of codeword j, weighted by u.
   *
   * @param {Float64Array} u As many numbers as there are bytes.
   * @param {number} j
   */
  #weigh(u, j) {
    let sum = 0;
    let counter = j * this.#row;
    for (let i = 0; i < u.length; i += WORD_BYTES) {
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

/**
 * Round u to the whole numbers ⌊2¹⁶·u_j/max|u| + ½⌋, and return its length.
 *
 * Processors take many times as long for floats near 2⁻¹⁰⁷⁴ as for others. A server that chooses w
 * could make the numbers of u such floats for some samples and not for others, and read from the
 * time of a check-in which they were. So what is small is dropped by comparisons alone, before
 * anything is computed with it.
 *
 * @param {Float64Array} u
 */
export function inWholeNumbers(u) {
  const largest = u.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const sound = largest >= SMALLEST_GRADIENT && largest < Infinity;
  const top = sound ? largest : 1;
  const least = sound ? top / (4 * LARGEST_WHOLE) : NaN; // NaN fails every comparison
  const whole = u.map((value) => {
    const kept = Math.abs(value) >= least ? value : 0;
    return Math.floor((kept / top) * LARGEST_WHOLE + 0.5);
  });
  const squares = whole.reduce((sum, value) => sum + value * value, 0);
  return { whole, length: (top / LARGEST_WHOLE) * Math.sqrt(squares) };
}

/** @type {(counter: number, seed: CheckinKey["seed"]) => number} */
function randomWord(counter, seed) {
  return mix(mix(counter, seed[0]), seed[1]);
}

/**
 * Permute words so that every bit depends on every bit and on the key.
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
 * Replace every byte by the number of its ones: by pairs of bits, by fours, by eights.
 *
 * @param {number} x
 */
function countOnes(x) {
  x -= (x >>> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return (x + (x >>> 4)) & 0x0f0f0f0f;
}
