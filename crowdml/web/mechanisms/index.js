/** List the mechanisms that a task can name; the browser has no other list of them. */

import { DeviceError } from "../errors.js";
import { phrase } from "../phrase.js";
import { DIRECTION } from "./direction.js";
import { GAUSSIAN_NOISE, LAPLACE_NOISE } from "./noise.js";

/** @import { CheckinEvent, MechanismKind } from "../types.js" */

/** @type {Record<string, MechanismKind>} */
export const MECHANISMS = {
  direction: DIRECTION,
  gaussian: GAUSSIAN_NOISE,
  laplace: LAPLACE_NOISE,
};

/** @param {string} name As in terms that were parsed. */
export const kindOf = (name) => /** @type {MechanismKind} */ (MECHANISMS[name]);

/**
 * Find the kind that reads an event. An event that no kind reads must not count as free.
 *
 * @param {CheckinEvent} event
 */
export function eventKindOf({ kind }) {
  const found = Object.values(MECHANISMS).find(({ event }) => event.tag === kind);
  if (found) return found.event;
  throw new DeviceError(
    "a check-in in this device's ledger must be of a known kind, found {found}. Nothing more is sent.",
    { found: kind ?? phrase("nothing") },
  );
}
