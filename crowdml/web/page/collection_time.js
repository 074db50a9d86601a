/** Estimate how long taking part takes. */

import { isTypedIn } from "../sensors/index.js";

/** @import { Terms } from "../protocol/terms.js" */

/**
 * Return the seconds until a check-in is full; undefined where numbers are typed in.
 *
 * @param {Terms} terms
 */
export function secondsPerCheckin({ features: { sensor }, collection }) {
  if (!sensor || isTypedIn(sensor)) return undefined;
  return sensor.window / sensor.rate + collection.batch * sensor.every;
}
