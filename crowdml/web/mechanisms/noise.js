/** Define the mechanisms `gaussian` and `laplace` of a task. */

import { phrase } from "../phrase.js";
import { GAUSSIAN, LAPLACE } from "../privacy/laws.js";
import { KIND, NoiseMechanism, lossOf } from "../privacy/noise_mechanism.js";
import { decodeGradient } from "../protocol/codec.js";
import { countOf } from "../protocol/numbers_in_words.js";
import { EPSILON, fail, number, oneOf, section } from "../protocol/schema.js";

/**
 * @import {
 *   Law, LinearModel, MechanismKind, NoiseEvent, NoiseTruth, NoisePayload, ShownNumber, Rule, Terms, WrittenLevel
 * } from "../types.js"
 */

/** Beyond these, noise would not fit the wire's integers, or would always be 0. */
const SMALLEST_LEVEL = 1e-9;
const LARGEST_LEVEL = 1e6;

/** The number of a gradient's values that are shown beside the truth. */
const SHOWN_NUMBERS = 6;

/** @param {NoiseEvent} event */
const samplesOf = ({ nTraining, nHeldout }) => nTraining + nHeldout;

/** @type {Pick<MechanismKind<any, NoiseEvent, NoisePayload, NoiseTruth>, "sendingSentences" | "event">} */
const NOISE = {
  *sendingSentences({ numbers: n, hasLabels, exact, level, weak }) {
    yield [
      "numbers",
      hasLabels
        ? phrase(
            "A check-in holds {n} numbers: which way the model should move, how many of its " +
              "predictions were wrong, and how many samples had each answer.",
            { n },
          )
        : phrase(
            "A check-in holds {n} numbers: which way the model should move, and how many of its " +
              "predictions were wrong.",
            { n },
          ),
    ];
    const none = phrase("So little noise is added to the numbers that nothing is protected.");
    const little = phrase(
      "Each number sent has noise, but so little that what your samples have in common can become " +
        "nearly certain.",
    );
    const enough = phrase("Noise is added to each number sent.");
    const noise = level.key === "none" ? none : weak ? little : enough;
    yield ["hides", exact ? phrase("The numbers are sent exactly as they are.") : noise];
  },

  event: {
    tag: KIND,
    loss: (event) => lossOf(event),
    wholeLoss: (event) => lossOf(event, samplesOf(event)),
    summary: (event) => countOf("sample", samplesOf(event)),
    shown({ gradient, grid, errors, labels: counts }, { g, nErrors, nLabels }, labels) {
      const steps = decodeGradient(gradient, g.length);
      /** @type {ShownNumber[]} */
      const rows = steps
        .slice(0, SHOWN_NUMBERS)
        .map((u, j) => [phrase("number {n}", { n: j + 1 }), g[j] ?? NaN, u * 2 ** grid]);
      const n = steps.length - SHOWN_NUMBERS;
      if (n > 0) rows.push([phrase("… {n} more", { n }), "", ""]);
      rows.push([phrase("wrong predictions"), String(nErrors), String(errors)]);
      nLabels.forEach((n, k) => rows.push([labels[k] ?? String(k + 1), String(n), String(counts[k])]));
      return { rows };
    },
  },
};

/**
 * Accept "inf" for no noise, since JSON has no infinity.
 *
 * @param {Rule<number>} rule
 * @returns {Rule<WrittenLevel>}
 */
const orNone = (rule) => (value, path) => (value === "inf" ? value : rule(value, path));

const epsilon = orNone(EPSILON);
const level = orNone(number(SMALLEST_LEVEL, LARGEST_LEVEL));

/** @type {Rule<WrittenLevel>} 0 where there are no labels to count. */
const labelLevel = (value, path) => (value === 0 ? value : level(value, path));

const gaussianTerms = section({
  mechanism: oneOf("gaussian"),
  epsilon,
  delta: number(1e-15, 0.01),
  rho_g: level,
  rho_e: level,
  rho_y: labelLevel,
});

/** @type {MechanismKind<typeof gaussianTerms>} */
export const GAUSSIAN_NOISE = {
  ...NOISE,
  terms: gaussianTerms,
  make({ rho_g, rho_e, rho_y, delta }, terms, model) {
    return noise(GAUSSIAN, [rho_g, rho_e, rho_y], terms, model, delta);
  },
};

const laplaceTerms = section({
  mechanism: oneOf("laplace"),
  epsilon,
  epsilon_g: level,
  epsilon_e: level,
  epsilon_y: labelLevel,
});

/** @type {MechanismKind<typeof laplaceTerms>} */
export const LAPLACE_NOISE = {
  ...NOISE,
  terms: laplaceTerms,
  make({ epsilon_g, epsilon_e, epsilon_y }, terms, model) {
    return noise(LAPLACE, [epsilon_g, epsilon_e, epsilon_y], terms, model);
  },
};

/**
 * @param {Law} law
 * @param {[WrittenLevel, WrittenLevel, WrittenLevel]} written Of the gradient, errors and labels.
 * @param {Terms} terms
 * @param {LinearModel} model
 * @param {number} [delta]
 */
function noise(law, written, { model: settings, collection }, model, delta = 0) {
  const { heldout, evaluators, counters } = collection;
  const { size, nClasses } = model;
  if (evaluators) fail("0 for this mechanism", "collection.evaluators", evaluators);
  if (counters) fail("0 for this mechanism", "collection.counters", counters);
  if (settings.clip === null) fail("given", "model.clip", settings.clip);
  const [gradient = NaN, errors = NaN, labels = NaN] = written.map((level) =>
    level === "inf" ? Infinity : level,
  );
  if (!labels === nClasses > 0) {
    fail("positive with labels and 0 without", phrase("the level of labels"), labels);
  }
  const levels = { gradient, errors, labels };
  const clip = Math.min(settings.clip, model.bound(law.norm));
  return new NoiseMechanism({ ...settings, law, levels, clip, size, nClasses, heldout, delta });
}
