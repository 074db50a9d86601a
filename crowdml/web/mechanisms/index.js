/** The mechanisms that a task can name, each with its terms: the browser's only list of them. */

import { InvalidInput } from "../errors.js";
import { integer, number, oneOf, section } from "../schema.js";
import { DirectionMechanism } from "./direction.js";
import { GAUSSIAN, LAPLACE } from "./laws.js";
import { NoiseMechanism } from "./noisy.js";

/** @import { LinearModel } from "../models/linear.js" */
/** @import { Terms } from "../terms.js" */
/** @import { Law, MechanismKind, Rule, WrittenLevel } from "../types.js" */

const LARGEST = 1e6;
const epsilon = number(1e-6, LARGEST);

/**
 * JSON has no infinity, so no noise is written "inf".
 *
 * @param {Rule<number>} rule
 * @returns {Rule<WrittenLevel>}
 */
const orNone = (rule) => (value, path) => (value === "inf" ? value : rule(value, path));

const level = orNone(number(1e-9, LARGEST));
/** 0 where there are no labels to count. */
const labelLevel = orNone(number(0, LARGEST));

const directionTerms = section({
  mechanism: oneOf("direction"),
  epsilon,
  directions: integer(2, 4096),
  closest: integer(1, 4095),
});
const gaussianTerms = section({
  mechanism: oneOf("gaussian"),
  epsilon: orNone(epsilon),
  delta: number(1e-15, 0.01),
  rho_g: level,
  rho_e: level,
  rho_y: labelLevel,
});
const laplaceTerms = section({
  mechanism: oneOf("laplace"),
  epsilon: orNone(epsilon),
  epsilon_g: level,
  epsilon_e: level,
  epsilon_y: labelLevel,
});

/** @satisfies {Record<string, MechanismKind>} */
export const MECHANISMS = Object.freeze({
  direction: {
    terms: directionTerms,
    /** @type {MechanismKind<typeof directionTerms>["make"]} */
    make({ epsilon, directions, closest }, terms, model) {
      const { batch, heldout, checkins, evaluators, counters } = terms.collection;
      if (checkins === null) throw new InvalidInput("collection.checkins must be there.");
      allow("collection.heldout must be 0 for this mechanism, found {found}.", heldout === 0, heldout);
      const others = evaluators + counters;
      allow(
        "evaluators and counters must be at most 0.9 together, found {found}.",
        others <= 0.9 * (1 + 1e-9),
        others,
      );
      allow(
        "collection.counters must be 0 without labels, found {found}.",
        !counters || model.nClasses > 0,
        counters,
      );
      return new DirectionMechanism({
        epsilon: epsilon / checkins,
        directions,
        closest,
        size: model.size,
        nClasses: model.nClasses,
        batch,
        evaluators,
        counters,
        scale: terms.target.scale,
        regularization: terms.model.regularization,
      });
    },
  },
  gaussian: {
    terms: gaussianTerms,
    /** @type {MechanismKind<typeof gaussianTerms>["make"]} */
    make({ rho_g, rho_e, rho_y, delta }, terms, model) {
      return noise(GAUSSIAN, [rho_g, rho_e, rho_y], terms, model, delta);
    },
  },
  laplace: {
    terms: laplaceTerms,
    /** @type {MechanismKind<typeof laplaceTerms>["make"]} */
    make({ epsilon_g, epsilon_e, epsilon_y }, terms, model) {
      return noise(LAPLACE, [epsilon_g, epsilon_e, epsilon_y], terms, model);
    },
  },
});

/**
 * @param {Law} law
 * @param {[WrittenLevel, WrittenLevel, WrittenLevel]} levels Of the gradient, errors and labels.
 * @param {Terms} terms
 * @param {LinearModel} model
 * @param {number} [delta]
 */
function noise(law, [gradient, errors, labels], terms, model, delta = 0) {
  const { clip, regularization, radius } = terms.model;
  const { heldout, evaluators, counters } = terms.collection;
  allow(
    "collection.evaluators must be 0 for this mechanism, found {found}.",
    evaluators === 0,
    evaluators,
  );
  allow("collection.counters must be 0 for this mechanism, found {found}.", counters === 0, counters);
  const suits = (labels !== 0) === model.nClasses > 0;
  allow(
    "the level of labels must be positive with labels and 0 without, found {found}.",
    suits,
    labels,
  );
  return new NoiseMechanism({
    law,
    levels: { gradient: read(gradient), errors: read(errors), labels: read(labels) },
    clip: Math.min(clip ?? Infinity, model.bound(law.norm)),
    size: model.size,
    nClasses: model.nClasses,
    heldout,
    regularization,
    radius,
    delta,
  });
}

/** @param {WrittenLevel} level */
function read(level) {
  return level === "inf" ? Infinity : level;
}

/**
 * @param {string} template The rule.
 * @param {boolean} kept
 * @param {string | number} found
 */
function allow(template, kept, found) {
  if (!kept) throw new InvalidInput(template, { found });
}
