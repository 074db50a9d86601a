/** Why a sensor cannot be read, and what the participant can do. */

import { CrowdmlError } from "../errors.js";

export class SensorTrouble extends CrowdmlError {}

/**
 * @param {string} what
 * @param {unknown} error What the browser said.
 */
export function refusal(what, error) {
  const denied = error instanceof Error && /NotAllowed|Security/.test(error.name);
  const advice = denied
    ? "Allow it in the browser's settings for this site, then tap Resume."
    : `The browser says: ${error instanceof Error ? error.message : error}`;
  return new SensorTrouble(`${what} may not be used. ${advice}`, { cause: error });
}
