/** Compute what a task promises to a participant, with every sentence about it. */

import { phrase } from "../phrase.js";
import { Loss, PRIVATE_UP_TO, SLACK } from "../privacy/loss.js";
import { certaintyOfLoss } from "./numbers_in_words.js";
import { SENDING_SENTENCES, LOSS_SENTENCES, SHORT_LOSS_SENTENCES, sentencesOf } from "./sentences.js";

/** @import { PrivacyLevel, Phrase, Terms } from "../types.js" */

/** The most check-ins of a device, where neither the terms nor the participant set a number. */
const USUAL_CHECKINS = 20;

/** Where counts, whole numbers, have more than this share, a bound may be passed ten times as often. */
const MANY_COUNTS = 0.75;
const MORE_OFTEN = 10;

/** Above this ε, a guess can become nearly certain. */
const WEAK_FROM = 4;

/** @type {PrivacyLevel[]} */
const PRIVACY_LEVELS = [
  { most: 0.1, key: "very-strong", pill: phrase("Very strong privacy"), word: phrase("very strong") },
  { most: 1, key: "strong", pill: phrase("Strong privacy"), word: phrase("strong") },
  { most: 4, key: "moderate", pill: phrase("Moderate privacy"), word: phrase("moderate") },
  { most: 10, key: "weak", pill: phrase("Weak privacy"), word: phrase("weak") },
  { most: PRIVATE_UP_TO, key: "very-weak", pill: phrase("Very weak privacy"), word: phrase("very weak") },
];
/** @type {PrivacyLevel} */
const NOT_PRIVATE = { most: Infinity, key: "none", pill: phrase("Not private"), word: phrase("not private") };

/**
 * State how much everything that leaves a device can reveal, at most.
 *
 * The three kinds of ε say what is replaced: one sample, everything in one check-in, or everything
 * that a person sends to the task.
 */
export class PrivacyPromise {
  /**
   * @param {Terms} terms What is agreed to.
   * @param {number | null} [checkins] How many check-ins the participant allows; by default what
   *   the terms say, or else as many as are usual. A task that is not private stays so with fewer.
   * @param {readonly Loss[]} [sent] What the check-ins so far have cost, perhaps on other terms.
   */
  constructor(terms, checkins, sent = []) {
    const { loss, nClasses, target, collection } = terms;
    const mechanism = terms.mechanism();
    const whole = mechanism.unit === "check-in";
    const usual = usualCheckins(terms);
    this.mechanism = terms.privacy.mechanism;
    this.shared = whole ? 1 : terms.shared;
    /** @type {"person" | "sample" | "reading"} Whom the promise of the terms is for. */
    this.whom = whole ? "person" : this.shared === 1 ? "sample" : "reading";
    this.epsilonPerSample = loss.total;
    /** For one reading of the sensor, which may be in several samples. */
    const reading = loss.group(this.shared);
    this.epsilonPerReading = reading.total;
    const byDefault = Math.max(loss.times(usual).total, this.epsilonPerReading);
    const allowed = isPrivate(byDefault) ? Math.min(checkins ?? usual, terms.mostCheckins) : usual;
    this.checkins = Math.max(allowed, sent.length);
    /** For one unit in each of the check-ins: a check-in, or one of its samples. */
    const over = Loss.sum([...sent, loss.times(this.checkins - sent.length)]);
    this.epsilonOverCheckins = over.total;
    /** How sure somebody can become at most who had only a coin's guess before, except with `excessProbability`. */
    this.certainty = certaintyOfLoss(Math.max(over.bound, reading.bound));
    /** The same from one check-in, or about a sample in one. */
    this.certaintyOfOne = certaintyOfLoss(loss.bound);
    /** For everything in one check-in; null where it grows with samples. */
    this.epsilonPerCheckin = whole ? loss.total : null;
    /** For everything that the check-ins send; null as above. */
    this.epsilonPerPerson = whole ? this.epsilonOverCheckins : null;
    this.delta = loss.delta;
    /** The probability that more can be learnt, at most. */
    this.excessProbability = loss.delta * ((mechanism.countsShare ?? 0) > MANY_COUNTS ? MORE_OFTEN : 1);
    this.batch = collection.batch;
    /** The first two labels; none where a number is predicted. */
    this.firstLabels = target.labels.slice(0, 2);
    this.tolerance = terms.model.tolerance;
    /** k; 0 where no direction is sent. */
    this.directions = mechanism.directions ?? 0;
    this.numbers = mechanism.numbers;
    /** Whether samples have labels, so that check-ins count answers. */
    this.hasLabels = nClasses > 0;
    this.roles = mechanism.roles ?? [];
  }

  /** The ε that decides the level: the largest that is promised. */
  get epsilon() {
    return Math.max(this.epsilonOverCheckins, this.epsilonPerReading);
  }

  /** Whether the task counts as private. */
  get private() {
    return isPrivate(this.epsilon);
  }

  /** The ε that the terms promise, for `whom`. */
  get epsilonOfTerms() {
    return this.epsilonPerPerson ?? this.epsilonPerReading;
  }

  /** Whether a single reading loses more than one sample in each of the check-ins. */
  get forAReading() {
    return this.epsilonPerReading > this.epsilonOverCheckins;
  }

  /** Whether numbers are sent unchanged, without any randomness. */
  get exact() {
    return this.epsilonPerSample === Infinity;
  }

  get level() {
    return PRIVACY_LEVELS.find(({ most }) => this.epsilon <= most * (1 + SLACK)) ?? NOT_PRIVATE;
  }

  get weak() {
    return this.epsilon > WEAK_FROM * (1 + SLACK);
  }

  /**
   * Every sentence, by its name, in reading order.
   *
   * @returns {Record<string, Phrase> & { loss: Phrase }}
   */
  get sentences() {
    return /** @type {any} */ (Object.fromEntries(sentencesOf(this)));
  }

  get whatLeaves() {
    return this.#named(SENDING_SENTENCES);
  }

  get whatIsLost() {
    return this.#named(LOSS_SENTENCES);
  }

  /** The sentences of `whatLeaves` by which a reader decides; the others add the details. */
  get sendingInShort() {
    return this.#named(["stays", "answer", "hides"]);
  }

  /** The sentences of `whatIsLost` by which a reader decides. */
  get lossInShort() {
    return this.#named(SHORT_LOSS_SENTENCES);
  }

  /** @param {readonly string[]} names */
  #named(names) {
    const { sentences } = this;
    return names.flatMap((name) => sentences[name] ?? []);
  }
}

/** @param {number} epsilon */
const isPrivate = (epsilon) => epsilon <= PRIVATE_UP_TO * (1 + SLACK);

/**
 * Return how many check-ins a device makes if the participant does not say.
 *
 * They never exceed the largest ε that is called private, unless one check-in alone does: then the
 * task is not private, however few check-ins there are.
 *
 * @param {Terms} terms
 */
function usualCheckins(terms) {
  const { checkins } = terms.collection;
  return checkins ?? Math.min(USUAL_CHECKINS, terms.checkinsWithin(PRIVATE_UP_TO) || USUAL_CHECKINS);
}
