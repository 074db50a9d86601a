/** Noise on the average gradient and on counts: the paper's mechanism, and its Gaussian sister. */

import { encodeGradient } from "../codec.js";
import { InvalidInput } from "../errors.js";
import { lossOf } from "../events.js";
import { lengthOf } from "../features.js";
import { chooseGrid, quantize, sensitivitySteps } from "../grid.js";
import { choose } from "../minibatch.js";

/** @import { Minibatch } from "../minibatch.js" */
/**
 * @import {
 *   Chance, CheckinEvent, Levels, Mechanism, NoiseEvent, NoiseSettings, NoiseTruth, Place, Release
 * } from "../types.js"
 */

const INT32_MAX = 2 ** 31 - 1;

/** Beyond these, noise would not fit the wire's integers, or would be no noise at all. */
const SMALLEST = 1e-9;
const LARGEST = 1e6;

const ONE_SAMPLE = 1;

/**
 * Bound, quantise, add noise, and say what it cost. A replaced sample changes n_e by one, and
 * moves two label bins by one each.
 *
 * @implements {Mechanism}
 */
export class NoiseMechanism {
  /** @readonly @type {"sample"} */
  unit = "sample";
  #settings;

  /** @param {NoiseSettings} settings */
  constructor(settings) {
    const { clip, levels } = settings;
    if (!(clip > 0 && clip < Infinity)) {
      throw new InvalidInput(
        "the bound S on a sample's gradient must be positive and finite, found {clip}. Set a clip " +
          "for this model.",
        { clip },
      );
    }
    checkLevels(levels);
    this.#settings = settings;
  }

  get norm() {
    return this.#settings.law.norm;
  }

  /**
   * @param {number} nSamples
   * @returns {NoiseEvent}
   */
  event(nSamples) {
    const { heldout, delta } = this.#settings;
    const nHeldout = Math.floor(heldout * nSamples);
    const nTraining = nSamples - nHeldout;
    const releases = this.#releases(nTraining, nHeldout);
    return { unit: this.unit, nTraining, nHeldout, releases, delta };
  }

  /**
   * @param {number} nTraining
   * @param {number} nHeldout
   * @returns {Release[]}
   */
  #releases(nTraining, nHeldout) {
    const { law, levels } = this.#settings;
    const { gradient, errors, labels } = levels;
    const errorsOn = nHeldout ? "heldout" : "training";
    /** @type {Release[]} */
    const releases = [
      { what: "gradient", part: "training", sensitivity: this.#steps(nTraining), level: gradient },
      { what: "errors", part: errorsOn, sensitivity: ONE_SAMPLE, level: errors },
    ];
    if (labels) releases.push({ what: "labels", part: "all", sensitivity: law.twoBins, level: labels });
    return releases;
  }

  /** @param {number} nSamples */
  cost(nSamples) {
    return lossOf(this.event(nSamples));
  }

  /**
   * Exactly the event's noise for the average gradient, the error and the label counts.
   *
   * Errors are counted on the held-out samples, or on all where there are none; gradients are
   * averaged over the samples really used for them. λw is added in whole steps after the noise: it
   * depends on public numbers only.
   *
   * @param {Minibatch} minibatch
   * @param {CheckinEvent} event
   * @param {Place} _
   * @param {Chance} chance
   */
  tell(minibatch, event, _, chance) {
    const { nSamples: samples, w } = minibatch;
    if (!this.#isOwn(event, samples)) {
      throw new InvalidInput(
        "an event must be for the minibatch's own {samples} samples, found {found}.",
        { samples, found: JSON.stringify(event) },
      );
    }
    const truth = this.#look(minibatch, event, choose(samples, event.nHeldout, chance));
    const grid = this.#grid(event.nTraining);
    const noisy = this.#hide(truth, grid, event.releases, chance);
    const decay = quantize(w.map((value) => this.#decay(value)), grid);
    const gradient = noisy.gradient.map((u, j) => clamp(u + (decay[j] ?? 0), INT32_MAX));
    const told = {
      samples,
      heldout: event.nHeldout,
      errors: noisy.errors[0] ?? 0,
      labels: noisy.labels,
      grid,
      gradient: encodeGradient(gradient),
    };
    return { told, truth };
  }

  /**
   * Whether an event is for this many samples and this mechanism. The sensitivities count too: noise
   * for a smaller one would hide too little.
   *
   * @param {CheckinEvent} event
   * @param {number} samples
   * @returns {event is NoiseEvent}
   */
  #isOwn(event, samples) {
    if (event.unit !== "sample" || event.nTraining + event.nHeldout !== samples) return false;
    const own = this.#releases(event.nTraining, event.nHeldout);
    return JSON.stringify(event.releases) === JSON.stringify(own);
  }

  /**
   * @param {Minibatch} minibatch
   * @param {NoiseEvent} event
   * @param {readonly boolean[]} heldout
   * @returns {NoiseTruth}
   */
  #look(minibatch, event, heldout) {
    const { clip, size, nClasses } = this.#settings;
    const training = heldout.map((aside) => !aside);
    const g = minibatch.meanGradient(training, clip, this.norm);
    const length = lengthOf(g, this.norm);
    if (g.length !== size || !(length <= clip)) {
      throw new InvalidInput(
        "an average gradient must be {size} numbers with an L{norm} norm of at most {clip}, found " +
          "{n} with {length}. Clip each sample first.",
        { size, norm: this.norm, clip, n: g.length, length },
      );
    }
    const evaluated = event.nHeldout ? heldout : training;
    const nErrors = minibatch.mistakes().filter((wrong, i) => wrong && evaluated[i]).length;
    const nLabels = Array.from({ length: nClasses }, () => 0);
    for (const label of minibatch.labels) nLabels[label] = (nLabels[label] ?? 0) + 1;
    return { g, nErrors, nLabels };
  }

  /**
   * @param {NoiseTruth} truth
   * @param {number} grid
   * @param {readonly Release[]} releases
   * @param {Chance} chance
   */
  #hide({ g, nErrors, nLabels }, grid, releases, chance) {
    const secret = { gradient: quantize(g, grid), errors: [nErrors], labels: nLabels };
    /** @type {Record<Release["what"], readonly number[]>} */
    const noisy = { gradient: [], errors: [], labels: [] };
    for (const release of releases) {
      const values = secret[release.what];
      const exposed = release.level === Infinity;
      noisy[release.what] = exposed ? values : this.#settings.law.add(values, release, chance);
    }
    return noisy;
  }

  /** @param {number} nTraining */
  #grid(nTraining) {
    const { law, levels, clip, regularization, radius } = this.#settings;
    const largest = clip + regularization * radius;
    return chooseGrid(clip, largest, nTraining, law.strength(levels.gradient));
  }

  /**
   * The sensitivity of the rounded average.
   *
   * @param {number} nTraining
   */
  #steps(nTraining) {
    const { law, clip, size } = this.#settings;
    return sensitivitySteps(clip, nTraining, this.#grid(nTraining), law.rounding(size));
  }

  /** @param {number} value */
  #decay(value) {
    return this.#settings.regularization * clamp(value, this.#settings.radius);
  }
}

/** @param {Levels} levels */
function checkLevels(levels) {
  for (const name of /** @type {const} */ (["gradient", "errors", "labels"])) {
    const value = levels[name];
    const nothingSent = name === "labels" && value === 0;
    if (!((value >= SMALLEST && value <= LARGEST) || value === Infinity || nothingSent)) {
      throw new InvalidInput(
        'the level for the {name} must lie in {low} … {high}, found {value}. Use "inf" for no noise.',
        { name, low: SMALLEST, high: LARGEST, value },
      );
    }
  }
}

/**
 * @param {number} value
 * @param {number} bound
 */
function clamp(value, bound) {
  return Math.max(-bound, Math.min(value, bound));
}
