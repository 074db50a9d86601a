/** When to try again: exponential backoff with jitter. */

/** After k failures wait base·2^k seconds, at most `longest`, times a random ½ … 1½. */
export class Backoff {
  #base;
  #longest;
  #clock;
  #failures = 0;
  #notBefore;

  /** @param {{base?: number, longest?: number, clock?: () => number}} [options] In seconds. */
  constructor({ base = 1, longest = 300, clock = () => performance.now() / 1000 } = {}) {
    this.#base = base;
    this.#longest = longest;
    this.#clock = clock;
    this.#notBefore = clock();
  }

  get due() {
    return this.wait <= 0;
  }

  /** Seconds until the next try. */
  get wait() {
    return this.#notBefore - this.#clock();
  }

  /** @param {number} [atLeast] */
  failed(atLeast = 0) {
    const delay = Math.min(this.#longest, this.#base * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    // Spreading retries over devices needs no secrecy, so a plain generator will do.
    this.#notBefore = this.#clock() + Math.max(delay * (0.5 + Math.random()), atLeast);
  }

  succeeded() {
    this.#failures = 0;
    this.#notBefore = this.#clock();
  }

  /**
   * Wait on purpose, say to hide the moment at which a minibatch became full.
   *
   * @param {number} seconds
   */
  postpone(seconds) {
    this.#notBefore = Math.max(this.#notBefore, this.#clock() + seconds);
  }
}
