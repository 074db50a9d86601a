/** Compute a model's view of samples with some parameters: Device Routine 2. */

/** @import { LinearModel, Norm, RandomIndex, Rows } from "../types.js" */

/**
 * Predict, count and average, as far as a mechanism asks for it. Minibatches stay on the device.
 */
export class Minibatch {
  #model;
  #x;
  #y;
  #tested;

  /**
   * @param {LinearModel} model
   * @param {Float64Array} w The parameters that were checked out; they are public.
   * @param {Rows} x
   * @param {readonly number[]} y
   * @param {Float64Array | null} [exported] The model that people use, where it differs from w:
   *   mistakes are its mistakes.
   */
  constructor(model, w, x, y, exported = null) {
    this.#model = model;
    this.w = w;
    this.#tested = exported ?? w;
    this.#x = x;
    this.#y = y;
  }

  get nSamples() {
    return this.#x.length;
  }

  /** The samples' labels; none for a real target. */
  get labels() {
    return this.#model.nClasses ? this.#y : [];
  }

  mistakes() {
    return this.#x.map((row, i) =>
      this.#model.isMistake(this.#tested, row, /** @type {number} */ (this.#y[i])),
    );
  }

  /**
   * Average the gradients of these samples, each first shrunk to `clip` in this norm.
   *
   * @type {(rows: readonly boolean[], clip: number, norm: Norm) => Float64Array<ArrayBuffer>}
   */
  meanGradient(rows, clip, norm) {
    const chosen = (/** @type {unknown} */ _, /** @type {number} */ i) => rows[i];
    const [x, y] = [this.#x.filter(chosen), this.#y.filter(chosen)];
    return this.#model.meanGradient(this.w, x, y, clip, norm);
  }
}

/**
 * Choose `nChosen` of the samples, all choices equally likely.
 *
 * @type {(nSamples: number, nChosen: number, chance: RandomIndex) => boolean[]}
 */
export function chooseRows(nSamples, nChosen, chance) {
  const order = Array.from({ length: nSamples }, (_, i) => i);
  const chosen = order.map(() => false);
  for (let i = 0; i < nChosen; i++) {
    const j = i + chance.below(nSamples - i);
    chosen[/** @type {number} */ (order[j])] = true;
    order[j] = /** @type {number} */ (order[i]);
  }
  return chosen;
}
