/** Write every sentence about a promise, as English templates and their values. */

import { kindOf } from "../mechanisms/index.js";
import { phrase } from "../phrase.js";
import { PRIVATE_UP_TO } from "../privacy/loss.js";
import { atMostTimes, countOf, fourDigitsUp } from "./numbers_in_words.js";

/** @import { Phrase, PrivacyPromise } from "../types.js" */

/** Which sentences answer which question, in reading order. */
export const SENDING_SENTENCES = ["stays", "often", "rule", "train", "evaluate", "count", "numbers", "hides"];
export const LOSS_SENTENCES = ["epsilon", "readings", "loss", "less", "single", "delta", "common"];
/** The sentences among them that give the short answer. */
export const SHORT_LOSS_SENTENCES = ["loss", "delta", "common"];

const WHOM = {
  person: phrase("a person"),
  sample: phrase("a sample"),
  reading: phrase("a reading"),
};

/** @type {(promise: PrivacyPromise) => Generator<[string, Phrase]>} In the order of reading. */
export function* sentencesOf(promise) {
  const { checkins: n, exact, whom, epsilonPerCheckin, shared } = promise;
  if (!promise.private) yield ["not_private", notPrivate(promise)];
  yield ["stays", stays(promise)];
  yield ["often", often(n)];
  yield* kindOf(promise.mechanism).sendingSentences(promise);
  yield ["epsilon", epsilon(promise)];
  if (shared > 1 && !exact) {
    yield [
      "readings",
      phrase("One reading of your sensor is in up to {n} samples: for a reading, ε is at most {epsilon}.", {
        n: shared,
        epsilon: fourDigitsUp(promise.epsilonPerReading),
      }),
    ];
  }
  yield ["loss", loss(promise)];
  if (epsilonPerCheckin && n > 1) {
    const values = { n, times: atMostTimes(promise.certaintyOfOne) };
    yield ["less", phrase("With one check-in instead of {n} it would be {times}.", values)];
  }
  const sampled = whom !== "person" && !exact;
  if (sampled && (n > 1 || promise.forAReading)) {
    const values = { times: atMostTimes(promise.certaintyOfOne) };
    yield ["single", phrase("For a single sample it would be {times}.", values)];
  }
  if (promise.delta && !exact) yield ["delta", delta(promise)];
  if (sampled) {
    yield ["common", phrase("The promise does not cover what all your samples have in common.")];
  }
}

/** @param {PrivacyPromise} promise */
function delta({ excessProbability, delta }) {
  const n = Math.round(1 / excessProbability);
  if (excessProbability === delta) {
    return phrase("With a chance of one in {n}, the δ of this task, more can be learnt than that.", { n });
  }
  return phrase(
    "With a chance of at most one in {n}, ten times the δ of this task, more can be learnt than that.",
    { n },
  );
}

/** @param {PrivacyPromise} promise */
function notPrivate({ exact, epsilon, epsilonOfTerms, whom }) {
  if (exact) {
    return phrase(
      "It sends numbers from which your samples can be worked out (ε = ∞).",
    );
  }
  const each = whom !== "person" && epsilonOfTerms <= PRIVATE_UP_TO;
  return phrase(
    "It has ε = {epsilon} for {whom}. Above {most} nothing is protected: a guess can become certain.",
    {
      epsilon: fourDigitsUp(each ? epsilon : epsilonOfTerms),
      whom: each ? phrase("one sample in each check-in") : WHOM[whom],
      most: PRIVATE_UP_TO,
    },
  );
}

/** @param {PrivacyPromise} promise */
function stays(promise) {
  const samples = countOf("sample", promise.batch);
  if (promise.private) {
    return phrase(
      "Your readings never leave your device. When it has {samples}, it sends one message, a check-in.",
      { samples },
    );
  }
  return phrase(
    "Your device sends numbers from which your samples can be worked out. When it has {samples}, " +
      "it sends one message, a check-in.",
    { samples },
  );
}

/** @param {number} n */
function often(n) {
  if (n === 1) return phrase("It sends one check-in, and no more.");
  return phrase("It stops after {n} check-ins.", { n });
}

/** @param {PrivacyPromise} promise */
function epsilon({ exact, whom, checkins: n, epsilonOverCheckins, epsilonPerSample }) {
  if (exact) return phrase("ε = ∞: nothing is protected.");
  const epsilon = fourDigitsUp(epsilonOverCheckins);
  if (whom === "person") {
    return phrase("ε = {epsilon}, for everything that you send to this task.", { epsilon });
  }
  if (n === 1) return phrase("ε = {epsilon}, for a single sample.", { epsilon });
  return phrase(
    "ε = {epsilon} for one sample in each of {n} check-ins, and ε = {single} for a single sample.",
    { epsilon, n, single: fourDigitsUp(epsilonPerSample) },
  );
}

/** @param {PrivacyPromise} promise */
function loss(promise) {
  const level = promise.level.word;
  if (promise.exact) {
    return phrase(
      "Your samples can be worked out from what your device sends. We call that {level}.",
      { level },
    );
  }
  const values = { sure: sureOf(promise.certainty), level };
  if (promise.forAReading) {
    return phrase(
      "Suppose somebody wonders which of two values one reading of your sensor had, and guesses " +
        "right half the time. From everything your device sends they could at worst be {sure}. We " +
        "call that {level}.",
      values,
    );
  }
  const question = questionOf(promise.firstLabels);
  if (promise.whom !== "person") {
    return phrase(
      "Suppose somebody wonders {question} in one sample of each check-in, and guesses right half " +
        "the time. From {checkins} they could at worst be {sure}. We call that {level}.",
      { ...values, question, checkins: countOf("check-in", promise.checkins) },
    );
  }
  return phrase(
    "Suppose somebody wonders {question}, and guesses right half the time. From everything " +
      "your device sends they could at worst be {sure}. We call that {level}.",
    { ...values, question },
  );
}

/** @param {number} certainty */
function sureOf(certainty) {
  const times = atMostTimes(certainty);
  return "n" in times.values ? phrase("right {times}", { times }) : phrase("practically certain");
}

/** @param {readonly string[]} answers Those of the task. */
function questionOf([first, second]) {
  return first !== undefined && second !== undefined
    ? phrase("whether your answer was “{first}” or “{second}”", { first, second })
    : phrase("whether your number was high or low");
}
