/** Define the mechanism `direction` of a task. */

import { phrase } from "../phrase.js";
import { DirectionMechanism, KIND, lossOf } from "../privacy/direction_mechanism.js";
import { fourDigitsUp, timesInWords } from "../protocol/numbers_in_words.js";
import { EPSILON, fail, integer, oneOf, section } from "../protocol/schema.js";

/**
 * @import {
 *   DirectionEvent, DirectionPayload, DirectionTruth, MechanismKind, Phrase, PrivacyPromise, RoleShare,
 *   ShownNumber
 * } from "../types.js"
 */

const TERMS = section({
  mechanism: oneOf(KIND),
  epsilon: EPSILON,
  directions: integer(2, 4096),
  closest: integer(1, 4095),
});

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
      const values = { times: timesInWords(share.truth) };
      yield ["answer", phrase("Some check-ins send your answer to one sample, true {times}.", values)];
    }
    yield ["hides", randomnessHides(promise)];
  },

  event: {
    tag: KIND,
    loss: lossOf,
    wholeLoss: lossOf,
    summary: () => phrase("one number"),
    shown(message, truth, labels) {
      return { rows: [rowOf(message, truth, labels)], probabilities: truth };
    },
  },
};

/** @type {(share: RoleShare, promise: PrivacyPromise) => Phrase} */
function sentenceOf({ role, n, of, truth }, { directions, hasLabels, tolerance }) {
  const values = { n, of, directions, times: timesInWords(truth), tolerance: fourDigitsUp(tolerance) };
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
