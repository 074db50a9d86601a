/** Explain why a sensor cannot be read, and what the participant can do. */

import { CrowdmlError } from "../errors.js";

/** @import { Phrase } from "../types.js" */

export class SensorError extends CrowdmlError {}

/**
 * @param {Phrase} sensor Its name.
 * @param {unknown} error What the browser said.
 */
export function sensorErrorOf(sensor, error) {
  const why = String(error instanceof Error ? error.message : error);
  const cause = { cause: error };
  return error instanceof Error && /NotAllowed|Security/.test(error.name)
    ? new SensorError(
        "The {sensor} may not be used. Allow it in the browser's settings for this site, then tap Resume.",
        { sensor },
        cause,
      )
    : new SensorError("The {sensor} may not be used. The browser says: {why}", { sensor, why }, cause);
}
