/**
 * Add noise to the average gradient and to counts: the paper's mechanism, and its Gaussian variant.
 */

import { InvalidInput } from "../errors.js";
import { phrase } from "../phrase.js";
import { encodeGradient } from "../protocol/codec.js";
import { fail } from "../protocol/schema.js";
import { lengthOf } from "./features.js";
import { chooseGrid, quantize, sensitivitySteps } from "./grid.js";
import { Loss } from "./loss.js";
import { chooseRows } from "./minibatch.js";

/**
 * @import {
 *   Chance, Hidden, Mechanism, Minibatch, NoiseEvent, NoiseSettings, NoiseTruth, CheckinKey, Release
 * } from "../types.js"
 */

export const KIND = "noise";

const INT32_MAX = 2 ** 31 - 1;

const ONE_SAMPLE = 1;

/** The time for one number of noise, with room. */
const STEPS_OF_NOISE = 100;

/**
 * Bound, quantise, add noise, and return what it cost. A replaced sample changes n_e by one, and
 * moves two label bins by one each.
 *
 * @implements {Mechanism}
 */
export class NoiseMechanism {
  /** @type {"sample"} */
  unit = "sample";
  #settings;

  /** @param {NoiseSettings} settings */
  constructor(settings) {
    const { clip, heldout, levels } = settings;
    if (!(clip > 0 && clip < Infinity)) {
      throw new InvalidInput(
        "the bound S on a sample's gradient must be positive and finite, found {clip}. Set a clip " +
          "for this model.",
        { clip },
      );
    }
    this.#settings = settings;
    this.norm = settings.law.norm;
    this.numbers = settings.size + 1 + settings.nClasses;
    this.operations = STEPS_OF_NOISE * this.numbers;
    const counts = levels.errors + levels.labels;
    /** The largest share of a sample's loss that counts have: held-out samples are in no gradient. */
    this.countsShare = heldout ? 1 : counts / (levels.gradient + counts);
  }

  /** @type {(nSamples: number) => NoiseEvent} */
  event(nSamples) {
    const { heldout, delta } = this.#settings;
    const nHeldout = Math.floor(heldout * nSamples);
    const nTraining = nSamples - nHeldout;
    const releases = this.#releases(nTraining, nHeldout);
    return { kind: KIND, nTraining, nHeldout, releases, delta };
  }

  /** @type {(nTraining: number, nHeldout: number) => Release[]} */
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
   * Add exactly the event's noise to the average gradient, the error and the label counts.
   *
   * Errors are counted on the held-out samples, or on all where there are none; gradients are
   * averaged over the samples really used for them. λw is added in whole steps after the noise: it
   * depends on public numbers only.
   *
   * @param {Minibatch} minibatch
   * @param {NoiseEvent} event
   * @param {CheckinKey} _
   * @param {Chance} chance
   */
  makePayload(minibatch, event, _, chance) {
    const { nSamples: samples, w } = minibatch;
    if (!this.#isOwn(event, samples)) {
      fail("for the minibatch's own {n} samples", phrase("an event"), event, { n: samples });
    }
    const truth = this.#look(minibatch, event, chooseRows(samples, event.nHeldout, chance));
    const grid = this.#grid(event.nTraining);
    const noisy = this.#hide(truth, grid, event.releases, chance);
    const decay = quantize(w.map((value) => this.#decay(value)), grid);
    const gradient = noisy.gradient.map((u, j) => clamp(u + (decay[j] ?? 0), INT32_MAX));
    const payload = {
      samples,
      heldout: event.nHeldout,
      errors: noisy.errors[0] ?? 0,
      labels: noisy.labels,
      grid,
      gradient: encodeGradient(gradient),
    };
    return { payload, truth };
  }

  /**
   * Decide whether an event is for this many samples and this mechanism. The sensitivities count
   * too: noise for a smaller sensitivity would hide too little.
   *
   * @type {(event: NoiseEvent, samples: number) => boolean}
   */
  #isOwn(event, samples) {
    if (event.kind !== KIND || event.nTraining + event.nHeldout !== samples) return false;
    const own = this.#releases(event.nTraining, event.nHeldout);
    return JSON.stringify(event.releases) === JSON.stringify(own);
  }

  /** @type {(minibatch: Minibatch, event: NoiseEvent, heldout: readonly boolean[]) => NoiseTruth} */
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

  /** @type {(truth: NoiseTruth, grid: number, releases: readonly Release[], chance: Chance) => Hidden} */
  #hide({ g, nErrors, nLabels }, grid, releases, chance) {
    const secret = { gradient: quantize(g, grid), errors: [nErrors], labels: nLabels };
    /** @type {Hidden} */
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

  /** @param {number} nTraining */
  #steps(nTraining) {
    const { law, clip, size } = this.#settings;
    return sensitivitySteps(clip, nTraining, this.#grid(nTraining), law.rounding(size));
  }

  /** @param {number} value */
  #decay(value) {
    return this.#settings.regularization * clamp(value, this.#settings.radius);
  }
}

/** @type {(value: number, bound: number) => number} */
function clamp(value, bound) {
  return Math.max(-bound, Math.min(value, bound));
}

/**
 * Add up the releases that looked at the same sample.
 *
 * Training and held-out samples are disjoint, so the more expensive of the two counts: ε_g + ε_e +
 * ε_y, or max(ε_g, ε_e) + ε_y with held-out samples. For n samples that are replaced at once, group
 * privacy gives nε, or n²ρ.
 *
 * @param {NoiseEvent} event
 * @param {number} [n] Samples that are replaced.
 */
export function lossOf({ releases, delta }, n = ONE_SAMPLE) {
  const spent = { training: 0, heldout: 0, all: 0 };
  for (const release of releases) spent[release.part] += release.level;
  const level = Math.max(spent.training, spent.heldout) + spent.all;
  return new Loss(delta ? { rho: level, delta } : { epsilon: level }).group(n);
}
