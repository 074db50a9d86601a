/** Why a sensor cannot be read, and what the participant can do. */

import { CrowdmlError } from "../errors.js";

/** @import { Phrase } from "../types.js" */

export class SensorTrouble extends CrowdmlError {}

/**
 * @param {Phrase} what The sensor.
 * @param {unknown} error What the browser said.
 */
export function refusal(what, error) {
  const why = String(error instanceof Error ? error.message : error);
  const cause = { cause: error };
  return error instanceof Error && /NotAllowed|Security/.test(error.name)
    ? new SensorTrouble(
        "{what} may not be used. Allow it in the browser's settings for this site, then tap Resume.",
        { what },
        cause,
      )
    : new SensorTrouble("{what} may not be used. The browser says: {why}", { what, why }, cause);
}
