/** What a release costs. Events are plain objects, so that they can be stored as they are. */

/** @import { CheckinRelease } from "./types.js" */

/**
 * The ε that a check-in costs each of its samples.
 *
 * ε_g + ε_e + ε_y, or max(ε_g, ε_e) + ε_y with held-out samples: no sample is in both parts.
 *
 * @param {CheckinRelease} event
 * @returns {number}
 */
export function perSample(event) {
  const spent = { training: 0, heldout: 0, all: 0 };
  for (const release of event.releases) spent[release.part] += release.epsilon;
  return Math.max(spent.training, spent.heldout) + spent.all;
}

/**
 * The ε when every sample of the check-in is replaced at once, by group privacy.
 *
 * @param {CheckinRelease} event
 * @returns {number}
 */
export function wholeBatch(event) {
  return (event.nTraining + event.nHeldout) * perSample(event);
}
