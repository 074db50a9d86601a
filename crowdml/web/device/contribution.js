/** Find what became of a participant's check-ins, from the task's public statistics. */

import { InvalidInput, Unreachable } from "../errors.js";
import { phrase } from "../phrase.js";
import { UNCERTAIN, nearest, shareRange } from "../protocol/figures.js";
import { answer, integer, number, oneOf, otherwise } from "../protocol/schema.js";

/** @import { PastError, PublicResults } from "../types.js" */

const FINAL = ["reached", "exhausted", "stopped"];
const count = integer(0, Number.MAX_SAFE_INTEGER);
const share = number(-1e9, 1e9);

const STATISTICS = answer({
  state: oneOf("running", "paused", "reached", "exhausted", "stopped"),
  version: count,
  active_devices: count,
  error: otherwise(null, answer({ value: share, margin: share })),
});

/**
 * Ask for everything that is public, so that the request does not reveal whose check-in is whose.
 *
 * @param {string} url The server's root.
 * @param {string} task
 * @returns {Promise<PublicResults>}
 */
export async function publicResults(url, task) {
  const ask = async (/** @type {string} */ path) => {
    const found = await fetch(url + path, { credentials: "omit", referrerPolicy: "no-referrer" });
    return found.ok ? found.text() : Promise.reject(new TypeError(String(found.status)));
  };
  const name = encodeURIComponent(task);
  try {
    const [statistics, table] = await Promise.all([
      ask(`/v1/tasks/${name}/stats`),
      ask(`/tasks/${name}/charts/error.csv`).catch(() => ""),
    ]);
    const { state, version, active_devices: devices, error } = STATISTICS(JSON.parse(statistics), "");
    const errors = table.split("\r\n").slice(1, -1).map(pastError);
    return { state, version, devices, error, errors, final: FINAL.includes(state) };
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    throw new Unreachable("cannot reach the server: {why}.", { why: String(error) }, { cause: error });
  }
}

/**
 * List which check-ins were this participant's, and how the crowd's error has changed since. No
 * change is claimed where the two bands overlap.
 *
 * @param {readonly number[]} mine Which check-ins of the task, the first one first.
 * @param {Omit<PublicResults, "devices">} now
 */
export function describeContribution(mine, now) {
  const first = mine[0];
  if (first === undefined) return [];
  return first >= now.version ? [yours(mine, now)] : [yours(mine, now), since(first, now)];
}

/** @type {(mine: readonly number[], now: Omit<PublicResults, "devices">) => ReturnType<typeof phrase>} */
function yours(mine, { version, final }) {
  const [first, n, total] = [mine[0] ?? 0, mine.length, Math.max(version, mine.at(-1) ?? 0)];
  if (n === 1) {
    return final
      ? phrase("Yours was check-in {first} of {total}.", { first, total })
      : phrase("Yours was check-in {first} of {total} so far.", { first, total });
  }
  return final
    ? phrase("{n} of {total} check-ins were yours, the first was number {first}.", { n, first, total })
    : phrase("{n} of {total} check-ins so far were yours, the first was number {first}.", { n, first, total });
}

/** @type {(first: number, results: Omit<PublicResults, "devices">) => ReturnType<typeof phrase>} */
function since(first, { error: now, errors }) {
  if (!isKnown(now)) return errorNow({ error: now });
  const then = errors.filter(({ version }) => version <= first).at(-1);
  if (!isKnown(then)) return errorNow({ error: now });
  const [before, after] = [percent(then), percent(now)];
  if (Math.abs(then.value - now.value) > then.margin + now.margin && before !== after) {
    const range = shareRange(now);
    return phrase(
      "Since then the crowd’s error went from about {before} % to about {after} % ({range}).",
      { before, after, range },
    );
  }
  return phrase(
    "When you checked in, {then} of the model’s predictions were wrong, now {now} are. That is " +
      "too close to tell whether it has become better.",
    { then: shareRange(then), now: shareRange(now) },
  );
}

/** @param {{value: number}} share Noise can move it outside 0 … 1. */
const percent = ({ value }) => nearest(100 * Math.min(Math.max(value, 0), 1));

/** @param {Pick<PublicResults, "error">} results */
export function errorNow({ error }) {
  if (!isKnown(error)) return phrase("How often the crowd’s model is wrong is not known.");
  return phrase("Now {now} of the model’s predictions are wrong.", { now: shareRange(error) });
}

/**
 * @param {{value: number, margin: number} | null | undefined} error
 * @returns {error is {value: number, margin: number}}
 */
function isKnown(error) {
  return (error?.margin ?? UNCERTAIN) < UNCERTAIN;
}

/** @type {(line: string) => PastError} */
function pastError(line) {
  const [version = NaN, value = NaN, margin = NaN] = line.split(",").map(Number);
  return { version, value, margin };
}
