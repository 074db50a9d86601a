/**
 * The terms: everything that decides what leaves a device, as one text with one hash.
 *
 * The text itself is what is agreed to, hashed and parsed. Its sections keep their names.
 */

import { CrowdmlError, DeviceError, InvalidInput, InvalidTask } from "./errors.js";
import { perSample } from "./events.js";
import { MODELS } from "./models/index.js";
import { Sanitizer } from "./sanitizer.js";
import { flag, integer, list, number, oneOf, otherwise, section, text } from "./schema.js";
import { SENSOR, checkSensor } from "./sensor.js";

/** @import { LinearModel } from "./models/linear.js" */
/** @import { Rule } from "./types.js" */

const KINDS = /** @type {(keyof typeof MODELS)[]} */ (Object.keys(MODELS));
const LARGEST_MODEL = 1_000_000;

const anyText = text(0, 2000);
const positive = number(1e-9, 1e9);
/**
 * An ε; JSON has no infinity, so no noise is written "inf".
 *
 * @type {Rule<number | "inf">}
 */
const level = (value, path) => (value === "inf" ? value : number(0, 1e6)(value, path));

const TERMS = section({
  task: text(0, Infinity),
  sensors: anyText,
  features: section({
    count: integer(1, 100_000),
    description: otherwise("", anyText),
    sensor: otherwise(null, SENSOR),
  }),
  target: section({
    labels: otherwise([], list(text(1, 80), 1000)),
    description: otherwise("", anyText),
  }),
  model: section({
    kind: oneOf(...KINDS),
    clip: positive,
    regularization: otherwise(0, number(0, 1e6)),
    radius: otherwise(1000, positive),
    intercept: otherwise(false, flag),
    delta: otherwise(1, positive),
    tolerance: otherwise(1, positive),
  }),
  privacy: section({ epsilon: level, epsilon_g: level, epsilon_e: level, epsilon_y: level }),
  collection: section({
    batch: integer(1, 100_000),
    buffer: integer(1, 1_000_000),
    heldout: otherwise(0, number(0, 0.5)),
  }),
});

/** What a participant agrees to. */
export class Terms {
  /**
   * @param {string} text
   * @param {ReturnType<typeof TERMS>} sections
   */
  constructor(text, sections) {
    this.text = text;
    this.task = sections.task;
    this.sensors = sections.sensors;
    this.features = sections.features;
    this.target = sections.target;
    this.model = sections.model;
    this.privacy = sections.privacy;
    this.collection = sections.collection;
  }

  /**
   * The terms in a text from a server.
   *
   * @param {string} text
   * @returns {Terms}
   */
  static parse(text) {
    try {
      const terms = new Terms(text, TERMS(JSON.parse(text), ""));
      checkSections(terms);
      terms.checkCost();
      return terms;
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof CrowdmlError)) throw error;
      const why = error instanceof CrowdmlError ? error.message : "they are not JSON.";
      throw new InvalidTask(`the server's terms make no sense: ${why} Do not join this task.`, {
        cause: error,
      });
    }
  }

  get nClasses() {
    return this.target.labels.length;
  }

  get private() {
    return this.epsilonPerSample !== Infinity;
  }

  /** Throw if the parts of ε cost more than is said of the whole. */
  checkCost() {
    const claimed = asNumber(this.privacy.epsilon);
    const cost = this.epsilonPerSample;
    if (cost > claimed * (1 + 1e-9)) {
      throw new InvalidTask(
        `privacy.epsilon must be at least what a check-in costs a sample, ${cost}, found ${claimed}.`,
      );
    }
  }

  /** What one check-in costs each of its samples, computed and not merely claimed. */
  get epsilonPerSample() {
    return perSample(this.event(this.collection.batch));
  }

  /**
   * What a check-in of n_s samples tells, of which ⌊heldout·n_s⌋ are set aside: known before
   * anything is told.
   *
   * @param {number} nSamples n_s.
   */
  event(nSamples) {
    const nHeldout = Math.floor(this.collection.heldout * nSamples);
    return this.sanitizer().event(nSamples - nHeldout, nHeldout);
  }

  /** @returns {LinearModel} */
  makeModel() {
    return MODELS[this.model.kind].make(this.model, this.features.count, this.nClasses);
  }

  /** @returns {Sanitizer} */
  sanitizer() {
    const { epsilon_g, epsilon_e, epsilon_y } = this.privacy;
    const { clip, regularization, radius } = this.model;
    const model = this.makeModel();
    const epsilon = {
      gradient: asNumber(epsilon_g),
      errors: asNumber(epsilon_e),
      labels: asNumber(epsilon_y),
    };
    const bound = Math.min(clip, model.l1Bound);
    return new Sanitizer({ epsilon, clip: bound, size: model.size, regularization, radius });
  }
}

/**
 * SHA-256 of the UTF-8 bytes of the text, in hexadecimal.
 *
 * @param {string} text
 * @returns {Promise<string>}
 */
export async function termsHash(text) {
  if (!globalThis.crypto?.subtle) {
    throw new DeviceError(
      "the terms cannot be checked: browsers compute hashes on pages from https:// or localhost " +
        "only. Open this page over https.",
    );
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The rules between fields.
 *
 * @param {Terms} terms
 */
function checkSections(terms) {
  const { features, target, model, privacy, collection } = terms;
  const { labels } = target;
  if (features.sensor) checkSensor(features.sensor, features.count);
  if (labels.length === 1 || new Set(labels).size < labels.length) {
    throw new InvalidInput("target.labels must be none, or two or more that differ.");
  }
  if (MODELS[model.kind].classifier !== labels.length > 0) {
    throw new InvalidInput(
      "target.labels must be there for classifiers and only for them, found " +
        `${labels.length} for ${model.kind}.`,
    );
  }
  if (asNumber(privacy.epsilon_y) > 0 !== labels.length > 0) {
    throw new InvalidInput(
      "epsilon_y must be positive with labels and 0 without, found " +
        `${privacy.epsilon_y} with ${labels.length} labels.`,
    );
  }
  const { size } = terms.makeModel();
  if (size > LARGEST_MODEL) {
    throw new InvalidInput(`a model may have at most ${LARGEST_MODEL} parameters, found ${size}.`);
  }
  if (collection.buffer < collection.batch) {
    throw new InvalidInput(
      `collection.buffer must hold a batch of ${collection.batch}, found ${collection.buffer}.`,
    );
  }
}

/** @param {number | "inf"} epsilon */
function asNumber(epsilon) {
  return epsilon === "inf" ? Infinity : epsilon;
}
