/** Make check-ins that name one of k directions: privacy for everything in a check-in at once. */

import { nearest, shown as rounded, times } from "../figures.js";
import { Loss } from "../loss.js";
import { phrase } from "../phrase.js";
import { EPSILON, fail, integer, oneOf, section } from "../schema.js";
import { Choice, closestFirst } from "./choice.js";
import { Codebook, inWholeNumbers } from "./codebook.js";

/**
 * @import {
 *   Chance, DirectionPayload, DirectionEvent, DirectionSettings, DirectionTruth, Mechanism, MechanismKind,
 *   Minibatch, Phrase, CheckinKey, PrivacyPromise, RoleShare, ShownNumber
 * } from "../types.js"
 */

const KIND = "direction";

/** S·b: an average gradient at least this long counts only by its direction. */
const LENGTH = 0.3;

const WORD = 2 ** 32;
const FINE = 2 ** 53;

/** Shares are written as n of at most this many check-ins. */
const MOST_SHARED = 1000;

/**
 * Rank k public directions by the gradient, and name one of the best, or of the others.
 *
 * A public rule gives each check-in one role, and the check-in spends all of its ε on it. To
 * evaluate, it draws one of its samples, predicts it, and sends right or wrong; to count, it draws
 * one and sends its label. Both are randomised response: the same choice with one best number.
 *
 * Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
 *
 * @implements {Mechanism}
 */
export class DirectionMechanism {
  /** @type {"check-in"} */
  unit = "check-in";
  /** @type {2} */
  norm = 2;
  numbers = 1;
  #settings;

  /** @param {DirectionSettings} settings */
  constructor(settings) {
    const { directions, closest, epsilon, nClasses } = settings;
    this.#settings = settings;
    this.directions = directions;
    this.operations = directions * settings.size;
    this.choices = {
      train: new Choice(directions, closest, epsilon),
      evaluate: new Choice(2, 1, epsilon),
      count: new Choice(Math.max(nClasses, 2), 1, epsilon),
    };
  }

  /** @type {(_: number, key: CheckinKey) => DirectionEvent} */
  event(_, key) {
    const { epsilon, evaluators, counters } = this.#settings;
    const others = key.lot < (evaluators + counters) * WORD ? "count" : "train";
    const role = key.lot < evaluators * WORD ? "evaluate" : others;
    return { kind: KIND, number: key.number, role, epsilon };
  }

  /** @returns {RoleShare[]} */
  get roles() {
    const { evaluators, counters } = this.#settings;
    const of = denominator(evaluators, counters);
    const [evaluate, count] = [evaluators, counters].map((s) => s && Math.max(1, nearest(s * of)));
    const n = { train: of - (evaluate ?? 0) - (count ?? 0), evaluate, count };
    return /** @type {DirectionEvent["role"][]} */ (Object.keys(n))
      .filter((role) => n[role])
      .map((role) => ({ role, n: n[role] ?? 0, of, truth: this.choices[role].p }));
  }

  cost() {
    return loss(this.#settings);
  }

  /**
   * @param {Minibatch} minibatch
   * @param {DirectionEvent} event
   * @param {CheckinKey} key
   * @param {Chance} chance
   */
  makePayload(minibatch, event, key, chance) {
    const { number } = key;
    const own = event.kind === KIND && event.number === number;
    if (!own || event.epsilon !== this.#settings.epsilon) {
      fail("for check-in {n} itself", phrase("an event"), event, { n: number });
    }
    if (event.role === "train") return this.#direct(minibatch, key, chance);
    const truths = event.role === "count" ? minibatch.labels : minibatch.mistakes().map(Number);
    const { sent, truth } = respond(truths, this.choices[event.role], chance);
    return { payload: { number, [event.role === "count" ? "answer" : "wrong"]: sent }, truth };
  }

  /**
   * @param {Minibatch} minibatch
   * @param {CheckinKey} key
   * @param {Chance} chance
   */
  #direct(minibatch, { number, seed }, chance) {
    const { size, directions, closest } = this.#settings;
    const { whole, length } = inWholeNumbers(this.#gradient(minibatch));
    const scores = new Codebook(size, seed).scores(whole, directions);
    const ahead = closestFirst(scores, closest);
    const back = closestFirst(scores.map((score) => -score), closest);
    const turning = this.#turning(length);
    const turned = chance.below(FINE) < turning * FINE;
    const direction = this.choices.train.choose(turned ? back : ahead, chance);
    const fits = ahead.indexOf(direction) < closest;
    const fitsBack = back.indexOf(direction) < closest;
    const share = Number(fits) * (1 - turning) + Number(fitsBack) * turning;
    return { payload: { number, direction }, truth: { fits, ...this.choices.train.probabilities(share) } };
  }

  /** @param {Minibatch} minibatch */
  #gradient(minibatch) {
    const everyone = Array.from({ length: minibatch.nSamples }, () => true);
    const g = minibatch.meanGradient(everyone, Infinity, this.norm);
    const { regularization } = this.#settings;
    return g.map((value, j) => value + regularization * (minibatch.w[j] ?? NaN));
  }

  /**
   * Return the probability to reverse a short u, which makes its length right on average.
   *
   * @param {number} length
   */
  #turning(length) {
    const longest = (LENGTH * this.#settings.scale) / this.#settings.batch;
    return (1 - Math.min(1, length / longest)) / 2;
  }
}

/**
 * Send the truth about one sample, or a random other number.
 *
 * @param {readonly number[]} truths For each sample.
 * @param {Choice} choice
 * @param {Chance} chance
 */
function respond(truths, choice, chance) {
  const answer = /** @type {number} */ (truths[chance.below(truths.length)]);
  const numbers = Array.from({ length: choice.k }, (_, n) => n);
  const sent = choice.choose([answer, ...numbers.filter((n) => n !== answer)], chance);
  const share = truths.filter((each) => each === sent).length / truths.length;
  return { sent, truth: { answer, ...choice.probabilities(share) } };
}

/**
 * Return the least number of check-ins for which these shares are whole numbers.
 *
 * @param {number[]} shares
 */
function denominator(...shares) {
  let of = 1;
  const fits = (/** @type {number} */ s) =>
    Math.abs(s * of - nearest(s * of)) < 1e-6 && (s === 0 || nearest(s * of) > 0);
  while (of < MOST_SHARED && !shares.every(fits)) of++;
  return of;
}

const TERMS = section({
  mechanism: oneOf(KIND),
  epsilon: EPSILON,
  directions: integer(2, 4096),
  closest: integer(1, 4095),
});

/** @param {{epsilon: number}} event */
const loss = ({ epsilon }) => new Loss({ epsilon });

/** @type {MechanismKind<typeof TERMS, DirectionEvent, DirectionPayload, DirectionTruth>} */
export const DIRECTION = {
  terms: TERMS,

  make(privacy, { collection, target: { scale }, model: settings }, { size, nClasses }) {
    const { regularization, clip } = settings;
    const { checkins, heldout, evaluators, counters } = collection;
    if (checkins === null) fail("given", "collection.checkins", checkins);
    if (heldout) fail("0 for this mechanism", "collection.heldout", heldout);
    if (clip !== null) fail("none for this mechanism", "model.clip", clip);
    const others = evaluators + counters;
    if (others > 0.9 * (1 + 1e-9)) fail("at most 0.9", "collection.evaluators + counters", others);
    if (counters && !nClasses) fail("0 without labels", "collection.counters", counters);
    const given = { ...privacy, ...collection, size, nClasses, scale, regularization };
    return new DirectionMechanism({ ...given, epsilon: privacy.epsilon / checkins });
  },

  *sendingSentences(promise) {
    const { roles } = promise;
    if (roles.length > 1) {
      yield ["rule", phrase("A public rule, not your device, decides what a check-in sends.")];
    }
    for (const share of roles) {
      yield [share.role, sentenceOf(share, promise)];
      if (share.role !== "count") continue;
      const values = { times: times(share.truth) };
      yield ["answer", phrase("Some check-ins send your answer to one sample, true {times}.", values)];
    }
    yield ["hides", randomnessHides(promise)];
  },

  event: {
    tag: KIND,
    loss,
    wholeLoss: loss,
    summary: () => phrase("one number"),
    shown(message, truth, labels) {
      return { rows: [rowOf(message, truth, labels)], probabilities: truth };
    },
  },
};

/** @type {(share: RoleShare, promise: PrivacyPromise) => Phrase} */
function sentenceOf({ role, n, of, truth }, { directions, hasLabels, tolerance }) {
  const values = { n, of, directions, times: times(truth), tolerance: rounded(tolerance) };
  if (role === "train") {
    return n === of
      ? phrase(
          "In every check-in it sends one number: which of {directions} directions the model " +
            "should move in.",
          values,
        )
      : phrase(
          "In {n} of {of} check-ins it sends one number: which of {directions} directions the " +
            "model should move in.",
          values,
        );
  }
  if (role === "count") {
    return phrase(
      "In {n} of {of} check-ins it sends only your answer to one sample. The answer sent is the " +
        "true one {times}; otherwise it is made up.",
      values,
    );
  }
  return hasLabels
    ? phrase(
        "In {n} of {of} check-ins it sends only whether the model was right about one of your " +
          "samples. What it sends is true {times}; otherwise it is the opposite.",
        values,
      )
    : phrase(
        "In {n} of {of} check-ins it sends only whether the model was within {tolerance} of the " +
          "number in one of your samples. What it sends is true {times}; otherwise it is the opposite.",
        values,
      );
}

/**
 * Say how well randomness hides what is sent, for a promise to the whole person.
 *
 * @param {PrivacyPromise} promise
 */
export function randomnessHides({ level, weak }) {
  if (level.key === "none") {
    return phrase("What is sent is changed at random, but so little that nothing is protected.");
  }
  return weak
    ? phrase(
        "What is sent is changed at random, but so little that a guess about you can become nearly certain.",
      )
    : phrase("What is sent is partly random, never certain.");
}

/** @type {(message: DirectionPayload, truth: DirectionTruth, labels: readonly string[]) => ShownNumber} */
function rowOf({ direction: n = 0, wrong, answer }, { answer: right = 0, fits, best, numbers }, labels) {
  if (wrong !== undefined) return [phrase("the model about one sample"), judged(right), judged(wrong)];
  if (answer !== undefined) {
    return [phrase("the answer of one sample"), labels[right] ?? "", labels[answer] ?? ""];
  }
  const values = { n, best, numbers };
  return [
    phrase("direction"),
    best === 1
      ? phrase("the one of {numbers} that suits your samples best", values)
      : phrase("one of the {best} of {numbers} that suit your samples best", values),
    fits
      ? phrase("number {n}, which is one of them", values)
      : phrase("number {n}, which is not one of them", values),
  ];
}

/** @param {number} wrong */
const judged = (wrong) => (wrong ? phrase("wrong") : phrase("right"));
