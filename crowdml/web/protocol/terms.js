/**
 * Read the terms: everything that decides what leaves a device, as one text with one hash.
 *
 * The text itself is what is agreed to, hashed and parsed. Its sections keep their names.
 */

import { CrowdmlError, InvalidTask } from "../errors.js";
import { hexOf } from "../hash.js";
import { MECHANISMS, kindOf } from "../mechanisms/index.js";
import { MODELS } from "../models/index.js";
import { phrase } from "../phrase.js";
import { SLACK, within } from "../privacy/loss.js";
import { FEATURES, checkFeatures } from "./features.js";
import { PrivacyPromise } from "./promise.js";
import { openSection, fail, flag, integer, list, number, oneOf, otherwise, section, text } from "./schema.js";
import { samplesPerReading } from "./sensor.js";
import { START } from "./start.js";

/** @import { LinearModel, Loss, PrivacyTerms, Rule } from "../types.js" */

const KINDS = /** @type {(keyof typeof MODELS)[]} */ (Object.keys(MODELS));
const LARGEST_MODEL = 1_000_000;
const MOST_CHECKINS = 1_000_000;

/** The number of multiplications and additions in a slot of 0.05 seconds. */
const STEPS_OF_SLOT = 100_000;

/** The work of reading and deleting a sample, besides its d numbers. */
const STEPS_OF_SAMPLE = 20;

const anyText = text(0, 2000);
const line = text(1, 200);
const positive = number(1e-9, 1e9);

/** @type {Rule<PrivacyTerms>} */
const privacy = (value, path) => {
  const { mechanism } = openSection({ mechanism: oneOf(...Object.keys(MECHANISMS)) })(value, path);
  return kindOf(mechanism).terms(value, path);
};

const TERMS = section({
  task: text(0, Infinity),
  owner: line,
  contact: line,
  purpose: text(1, 2000),
  sensors: anyText,
  features: FEATURES,
  target: section({
    labels: otherwise([], list(text(1, 80), 1000)),
    description: otherwise("", anyText),
    scale: otherwise(1, positive),
    unit: otherwise("", text(0, 40)),
  }),
  model: section({
    kind: oneOf(...KINDS),
    clip: otherwise(null, positive),
    regularization: otherwise(0, number(0, 1e6)),
    radius: otherwise(1000, positive),
    intercept: otherwise(false, flag),
    delta: otherwise(1, positive),
    tolerance: otherwise(1, positive),
    start: otherwise(null, START),
  }),
  privacy,
  collection: section({
    batch: integer(1, 100_000),
    buffer: integer(1, 1_000_000),
    heldout: otherwise(0, number(0, 0.5)),
    checkins: otherwise(null, integer(1, MOST_CHECKINS)),
    evaluators: otherwise(0, number(0, 0.9)),
    counters: otherwise(0, number(0, 0.9)),
  }),
});

export class Terms {
  /**
   * @param {string} text
   * @param {ReturnType<typeof TERMS>} sections
   */
  constructor(text, sections) {
    this.text = text;
    this.task = sections.task;
    this.owner = sections.owner;
    this.contact = sections.contact;
    this.purpose = sections.purpose;
    this.sensors = sections.sensors;
    this.features = sections.features;
    this.target = sections.target;
    this.model = sections.model;
    this.privacy = sections.privacy;
    this.collection = sections.collection;
  }

  /** @param {string} text From a server. */
  static parse(text) {
    try {
      const terms = new Terms(text, TERMS(JSON.parse(text), ""));
      checkSections(terms);
      checkCost(terms);
      return terms;
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof CrowdmlError)) throw error;
      const why = error instanceof CrowdmlError ? error.phrase : phrase("they are not JSON.");
      throw new InvalidTask(
        "the server's terms make no sense: {why} Do not join this task.",
        { why },
        { cause: error },
      );
    }
  }

  get nClasses() {
    return this.target.labels.length;
  }

  get private() {
    return this.promise().private;
  }

  /**
   * @param {number | null} [checkins] How many the participant allows.
   * @param {readonly Loss[]} [sent] What the check-ins so far have cost.
   */
  promise(checkins, sent) {
    return new PrivacyPromise(this, checkins, sent);
  }

  /** What one check-in costs its unit: computed, not only declared. */
  get loss() {
    return this.mechanism().cost(this.collection.batch);
  }

  /** The most samples that one reading of the sensor is in; 1 where there is no sensor. */
  get shared() {
    const { sensor } = this.features;
    return sensor ? samplesPerReading(sensor) : 1;
  }

  /** K, the most check-ins of a device. */
  get mostCheckins() {
    return this.collection.checkins ?? MOST_CHECKINS;
  }

  /**
   * The number of time slots that a check-in takes, however fast the device is. It follows from
   * public numbers and covers the most work that any samples can cause.
   */
  get slots() {
    const samples = this.collection.buffer * (this.makeModel().size + STEPS_OF_SAMPLE);
    return Math.ceil((this.mechanism().operations + 2 * samples) / STEPS_OF_SLOT);
  }

  /**
   * Return how many check-ins cost at most this ε together.
   *
   * @param {number} epsilon
   */
  checkinsWithin(epsilon) {
    const { loss } = this;
    let checkins = 0;
    for (let more = 2 ** 20; more >= 1; more /= 2) {
      if (within(loss.times(checkins + more).total, epsilon, loss.total)) checkins += more;
    }
    return Math.min(checkins, this.mostCheckins);
  }

  /** @returns {LinearModel} */
  makeModel() {
    return MODELS[this.model.kind].make(this.model, this.features.count, this.nClasses);
  }

  mechanism() {
    return kindOf(this.privacy.mechanism).make(this.privacy, this, this.makeModel());
  }
}

/** @param {string} text Hashed as UTF-8; the hash is in hexadecimal. */
export async function termsHash(text) {
  return hexOf(text);
}

/** @param {Terms} terms */
function checkSections(terms) {
  const { features, target, model, collection } = terms;
  const { labels } = target;
  checkFeatures(features);
  if (labels.length === 1 || new Set(labels).size < labels.length) {
    fail("none, or two or more that differ", "target.labels", labels);
  }
  if (MODELS[model.kind].classifier !== labels.length > 0) {
    fail("given for classifiers and only for them", "target.labels", labels);
  }
  const { size } = terms.makeModel();
  if (size > LARGEST_MODEL) {
    fail("at most {most}", phrase("the number of parameters"), size, { most: LARGEST_MODEL });
  }
  const { batch, buffer } = collection;
  if (buffer < batch) {
    fail("at least {batch}, like collection.batch", "collection.buffer", buffer, { batch });
  }
}

/**
 * Throw if the parts cost more than the terms say for the whole.
 *
 * @param {Terms} terms
 */
function checkCost({ privacy, loss: { total: cost } }) {
  if (privacy.epsilon === "inf" || cost <= privacy.epsilon * (1 + SLACK)) return;
  fail("at least what a check-in costs, {cost}", "privacy.epsilon", privacy.epsilon, { cost });
}
