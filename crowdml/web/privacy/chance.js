/** Draw random numbers: the one module that asks the browser's secure generator. */

import { InvalidInput } from "../errors.js";
import { addGaussian, addLaplace } from "./noise_sampling.js";

/** @import { Chance as Random } from "../types.js" */

const WORD = 2 ** 32;
const LARGEST = 2 ** 53;
const WORDS = 1024;

/** Provide all randomness of a device, from a buffer of random words that are wiped after use. */
export class Chance {
  #fill;
  #words = new Uint32Array(WORDS);
  #next = WORDS;

  /** @param {(words: Uint32Array<ArrayBuffer>) => void} [fill] The source, for tests. */
  constructor(fill = (words) => void crypto.getRandomValues(words)) {
    this.#fill = fill;
  }

  /**
   * Draw an integer 0 … n−1, all equally likely, for n up to 2^53.
   *
   * A draw beyond the last whole multiple of n is thrown away: taking it modulo n would favour
   * small results.
   *
   * @param {number} n
   */
  below(n) {
    if (!(Number.isInteger(n) && n >= 1 && n <= LARGEST)) {
      throw new InvalidInput("a bound must be an integer 1 … 2^53, found {n}.", { n });
    }
    if (n === 1) return 0;
    const range = n <= WORD ? WORD : LARGEST;
    const fair = range - (range % n);
    for (;;) {
      const draw = n <= WORD ? this.#word() : (this.#word() % 2 ** 21) * WORD + this.#word();
      if (draw < fair) return draw % n;
    }
  }

  /** Draw 128 random bits as 22 letters, digits, `-` and `_`. */
  token() {
    const bytes = Array.from({ length: 16 }, () => this.#word() % 256);
    const base64 = btoa(String.fromCharCode(...bytes));
    return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  /** @type {Random["addLaplace"]} */
  addLaplace(values, amount) {
    return addLaplace(values, amount, this);
  }

  /** @type {Random["addGaussian"]} */
  addGaussian(values, amount) {
    return addGaussian(values, amount, this);
  }

  #word() {
    if (this.#next === WORDS) {
      this.#fill(this.#words);
      this.#next = 0;
    }
    const word = /** @type {number} */ (this.#words[this.#next]);
    this.#words[this.#next++] = 0;
    return word;
  }
}
