/** Every sentence about a promise, as English templates and their values. */

import { certainty, counted, shown, times } from "./figures.js";
import { PRIVATE_UP_TO } from "./loss.js";
import { phrase } from "./phrase.js";

/** @import { PrivacyPromise } from "./promise.js" */
/** @import { Phrase, RoleShare } from "./types.js" */

/** Which sentences answer which question, in the order in which they are read. */
export const LEAVES = ["stays", "often", "rule", "train", "evaluate", "count", "numbers", "hides"];
export const LOST = ["epsilon", "delta", "loss", "less", "single", "common", "readings"];

const WHOM = {
  person: phrase("a person"),
  sample: phrase("a sample"),
  reading: phrase("a reading"),
};

/**
 * Every sentence about a promise, by its name, in the order in which they are read.
 *
 * @param {PrivacyPromise} promise
 * @returns {Generator<[string, Phrase]>}
 */
export function* sentencesOf(promise) {
  const { checkins: n, exact, whom, epsilonPerCheckin, shared } = promise;
  if (!promise.private) yield ["not_private", notPrivate(promise)];
  yield ["stays", stays(promise)];
  yield ["often", often(n)];
  if (promise.roles.length > 1) {
    yield ["rule", phrase("A public rule, not your device, decides what a check-in sends.")];
  }
  for (const share of promise.roles) yield [share.role, role(promise, share)];
  if (whom !== "person") yield ["numbers", numbers(promise)];
  yield ["hides", hides(promise)];
  yield ["epsilon", epsilon(promise)];
  if (promise.delta && !exact) {
    const odds = { n: Math.round(1 / promise.delta) };
    yield ["delta", phrase("With a chance of one in {n}, more can be learnt than that.", odds)];
  }
  yield ["loss", loss(promise)];
  if (epsilonPerCheckin && n > 1) {
    const values = { n, times: times(certainty(epsilonPerCheckin)) };
    yield ["less", phrase("With one check-in instead of {n} it would be {times}.", values)];
  }
  if (whom === "person" || exact) return;
  if (n > 1 || promise.forAReading) {
    const values = { times: times(certainty(promise.epsilonPerSample)) };
    yield ["single", phrase("For a single sample it would be {times}.", values)];
  }
  yield ["common", phrase("What all your samples have in common has no such bound.")];
  if (shared > 1) {
    yield [
      "readings",
      phrase("One reading of your sensor is in up to {n} samples: for a reading, ε = {epsilon}.", {
        n: shared,
        epsilon: shown(promise.epsilonPerReading),
      }),
    ];
  }
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
      epsilon: shown(each ? epsilon : epsilonOfTerms),
      whom: each ? phrase("one sample in each check-in") : WHOM[whom],
      most: PRIVATE_UP_TO,
    },
  );
}

/** @param {PrivacyPromise} promise */
function stays(promise) {
  const samples = counted("sample", promise.batch);
  if (promise.private) {
    return phrase(
      "Your samples never leave your device. When it has {samples}, it sends one message, a check-in.",
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

/**
 * @param {PrivacyPromise} promise
 * @param {RoleShare} share
 */
function role({ directions, counted, tolerance }, { role, n, of, truth }) {
  if (role === "train" && n === of) {
    return phrase(
      "In every check-in it sends one number: which of {directions} directions the model should " +
        "move in.",
      { directions },
    );
  }
  if (role === "train") {
    return phrase(
      "In {n} of {of} check-ins it sends one number: which of {directions} directions the model " +
        "should move in.",
      { n, of, directions },
    );
  }
  const values = { n, of, times: times(truth) };
  if (role === "count") {
    return phrase(
      "In {n} of {of} check-ins it sends only your answer to one sample. The answer sent is the " +
        "true one {times}; otherwise it is made up.",
      values,
    );
  }
  if (counted) {
    return phrase(
      "In {n} of {of} check-ins it sends only whether the model was right about one of your " +
        "samples. What it sends is true {times}; otherwise it is the opposite.",
      values,
    );
  }
  return phrase(
    "In {n} of {of} check-ins it sends only whether the model was within {tolerance} of the number " +
      "in one of your samples. What it sends is true {times}; otherwise it is the opposite.",
    { ...values, tolerance: shown(tolerance) },
  );
}

/** @param {PrivacyPromise} promise */
function numbers({ counted, numbers: n }) {
  if (counted) {
    return phrase(
      "A check-in holds {n} numbers: which way the model should move, how many of its predictions " +
        "were wrong, and how many samples had each answer.",
      { n },
    );
  }
  return phrase(
    "A check-in holds {n} numbers: which way the model should move, and how many of its predictions " +
      "were wrong.",
    { n },
  );
}

/** @param {PrivacyPromise} promise */
function hides({ exact, whom, level, weak }) {
  const none = level.key === "none";
  if (exact) return phrase("They are sent exactly as they are.");
  if (whom === "person") {
    if (none) return phrase("Chance changes what is sent so little that nothing is protected.");
    return weak
      ? phrase(
          "Chance changes what is sent so little that a guess about you can become nearly certain.",
        )
      : phrase("Chance has a part in what is sent, so nobody can be sure what your samples are.");
  }
  if (none) return phrase("So little noise is added to them that nothing is protected.");
  return weak
    ? phrase(
        "Noise is added to each of them, but so little that a guess about what your samples have " +
          "in common can become nearly certain.",
      )
    : phrase("Noise is added to each of them before they leave.");
}

/** @param {PrivacyPromise} promise */
function epsilon({ exact, whom, checkins: n, epsilonOverCheckins, epsilonPerSample }) {
  if (exact) return phrase("ε = ∞: nothing is protected.");
  const epsilon = shown(epsilonOverCheckins);
  if (whom === "person") {
    return phrase("ε = {epsilon}, for everything that you send to this task.", { epsilon });
  }
  if (n === 1) return phrase("ε = {epsilon}, for a single sample.", { epsilon });
  return phrase(
    "ε = {epsilon} for one sample in each of {n} check-ins, and ε = {single} for a single sample.",
    { epsilon, n, single: shown(epsilonPerSample) },
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
  const values = { times: times(promise.certainty), level };
  if (promise.forAReading) {
    return phrase(
      "Suppose somebody wonders which of two values one reading of your sensor had, and could only " +
        "toss a coin. From everything your device sends they could at worst be right {times}. We " +
        "call that {level}.",
      values,
    );
  }
  const question = questionOf(promise.answers);
  if (promise.whom !== "person") {
    return phrase(
      "Suppose somebody wonders {question} in one sample of each check-in, and could only toss a " +
        "coin. From {checkins} they could at worst be right {times}. We call that {level}.",
      { ...values, question, checkins: counted("check-in", promise.checkins) },
    );
  }
  return phrase(
    "Suppose somebody wonders {question}, and could only toss a coin. From everything your device " +
      "sends they could at worst be right {times}. We call that {level}.",
    { ...values, question },
  );
}

/**
 * A question about the participant, in the task's own answers.
 *
 * @param {readonly string[]} answers
 */
function questionOf([first, second]) {
  return first !== undefined && second !== undefined
    ? phrase("whether your answer was “{first}” or “{second}”", { first, second })
    : phrase("whether your number was high or low");
}
