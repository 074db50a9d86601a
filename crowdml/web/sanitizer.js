/** Device Routine 3: the only door through which anything leaves a device. */

import { InvalidInput } from "./errors.js";
import { l1Norm } from "./features.js";
import { chooseGrid, quantize, sensitivitySteps } from "./grid.js";

/**
 * @import {
 *   Chance, CheckinRelease, Epsilon, LaplaceRelease, Sanitized, SanitizerSettings, Summary
 * } from "./types.js"
 */

const INT32_MAX = 2 ** 31 - 1;

/** Beyond these, noise would not fit the wire's integers, or would be no noise at all. */
const SMALLEST = 1e-6;
const LARGEST = 1e6;

const ONE_SAMPLE = 1;
const TWO_BINS = 2;

/**
 * Bound, quantise, add noise, and say what it cost. A replaced sample changes n_e by one, and
 * moves two label bins by one each.
 */
export class Sanitizer {
  /** @param {SanitizerSettings} settings */
  constructor({ epsilon, clip, size, regularization, radius }) {
    if (!(clip > 0 && clip < Infinity)) {
      throw new InvalidInput(
        `the bound S on a sample's gradient must be positive and finite, found ${clip}. ` +
          "Set a clip for this model.",
      );
    }
    this.epsilon = checkEpsilon(epsilon);
    this.clip = clip;
    this.size = size;
    this.regularization = regularization;
    this.radius = radius;
  }

  /** The largest noiseless |g̃_j|: S from the data and λR from the parameters. */
  get largest() {
    return this.clip + this.regularization * this.radius;
  }

  /** @param {number} nTraining */
  grid(nTraining) {
    return chooseGrid(this.clip, this.largest, nTraining, this.epsilon.gradient);
  }

  /**
   * What a check-in of so many samples will have told: known before anything is.
   *
   * @param {number} nTraining
   * @param {number} nHeldout
   * @returns {CheckinRelease}
   */
  event(nTraining, nHeldout) {
    const { gradient, errors, labels } = this.epsilon;
    const steps = sensitivitySteps(this.clip, nTraining, this.grid(nTraining), this.size);
    const errorsOn = nHeldout ? "heldout" : "training";
    /** @type {LaplaceRelease[]} */
    const releases = [
      { what: "gradient", part: "training", sensitivity: steps, epsilon: gradient },
      { what: "errors", part: errorsOn, sensitivity: ONE_SAMPLE, epsilon: errors },
    ];
    if (labels) {
      releases.push({ what: "labels", part: "all", sensitivity: TWO_BINS, epsilon: labels });
    }
    return { nTraining, nHeldout, releases };
  }

  /**
   * Noise for the average gradient, the error count and the label counts: that of the event.
   *
   * λw is added in whole steps after the noise: it depends on public numbers only.
   *
   * @param {Summary} summary
   * @param {Float64Array} w
   * @param {CheckinRelease} event What the ledger has approved, and will have booked.
   * @param {Chance} chance
   * @returns {Sanitized}
   */
  sanitize(summary, w, event, chance) {
    this.#check(summary, event);
    const grid = this.grid(summary.nTraining);
    const secret = {
      gradient: quantize(summary.g, grid),
      errors: [summary.nErrors],
      labels: summary.nLabels,
    };
    /** @type {Record<LaplaceRelease["what"], readonly number[]>} */
    const noisy = { gradient: [], errors: [], labels: [] };
    for (const release of event.releases) {
      const values = secret[release.what];
      const exposed = release.epsilon === Infinity;
      noisy[release.what] = exposed ? values : chance.addLaplace(values, release);
    }
    const decay = quantize(w.map((value) => this.#decay(value)), grid);
    return {
      gradient: noisy.gradient.map((u, j) => clamp(u + (decay[j] ?? 0), INT32_MAX)),
      grid,
      nErrors: noisy.errors[0] ?? 0,
      nLabels: noisy.labels,
    };
  }

  /**
   * @param {Summary} summary
   * @param {CheckinRelease} event
   */
  #check({ g, nTraining, nHeldout }, event) {
    if (event.nTraining !== nTraining || event.nHeldout !== nHeldout) {
      throw new InvalidInput(
        `an event must be for ${nTraining} training and ${nHeldout} held-out samples, found ` +
          `${event.nTraining} and ${event.nHeldout}. Make one for this minibatch.`,
      );
    }
    const norm = l1Norm(g);
    if (g.length !== this.size || !(norm <= this.clip)) {
      throw new InvalidInput(
        `an average gradient must be ${this.size} numbers with an L1 norm of at most ` +
          `${this.clip}, found ${g.length} with ${norm}. Clip each sample first.`,
      );
    }
  }

  /** @param {number} value */
  #decay(value) {
    return this.regularization * clamp(value, this.radius);
  }
}

/**
 * @param {Epsilon} epsilon
 * @returns {Epsilon}
 */
function checkEpsilon(epsilon) {
  for (const name of /** @type {const} */ (["gradient", "errors", "labels"])) {
    const value = epsilon[name];
    const nothingSent = name === "labels" && value === 0;
    if (!((value >= SMALLEST && value <= LARGEST) || value === Infinity || nothingSent)) {
      throw new InvalidInput(
        `epsilon for the ${name} must lie in ${SMALLEST} … ${LARGEST}, found ${value}. ` +
          'Use "inf" for no noise.',
      );
    }
  }
  return epsilon;
}

/**
 * @param {number} value
 * @param {number} bound
 */
function clamp(value, bound) {
  return Math.max(-bound, Math.min(value, bound));
}
