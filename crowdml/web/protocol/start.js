/** Read model.start: where the model starts from, if not at zero, and how a device verifies it. */

import { InvalidInput } from "../errors.js";
import { hexOf } from "../hash.js";
import { phrase } from "../phrase.js";
import { countOf } from "./figures.js";
import { fail, integer, otherwise, section, text } from "./schema.js";

/** @import { Start } from "../types.js" */

const MOST = 1e9;

export const START = section({
  sha256: (value, path) =>
    typeof value === "string" && /^[0-9a-f]{64}$/.test(value)
      ? value
      : fail("64 lower-case hexadecimal digits", path, value),
  rows: otherwise(null, integer(1, MOST)),
  people: otherwise(null, integer(1, MOST)),
  words: text(0, 2000),
});

/**
 * Say where the model starts from, for the participant.
 *
 * @param {Start} start
 */
export function startPhrase({ rows, people, words }) {
  if (rows === null) {
    return words
      ? phrase("The model starts from one that was learnt before ({words}).", { words })
      : phrase("The model starts from one that was learnt before.");
  }
  const samples = countOf("sample", rows);
  const from = people === null ? undefined : countOf("person", people);
  const pilot = from ? phrase("{samples} of {people}", { samples, people: from }) : samples;
  return words
    ? phrase("The model starts from a pilot of {pilot} ({words}).", { pilot, words })
    : phrase("The model starts from a pilot of {pilot}.", { pilot });
}

/**
 * Throw unless the parameters of version 0 are the start that was agreed to.
 *
 * @type {(start: Start, bytes: Uint8Array<ArrayBuffer>) => Promise<void>}
 */
export async function checkStart(start, bytes) {
  const found = await hexOf(bytes);
  if (found === start.sha256) return;
  throw new InvalidInput(
    "version 0 must be the start that the terms name, {agreed}, found {found}.",
    { agreed: start.sha256, found },
  );
}
