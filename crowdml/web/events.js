/**
 * What a check-in told, and what that costs. Events are plain objects, so that they can be stored
 * as they are; the unit says whom the promise is for.
 */

import { Loss } from "./loss.js";

/** @import { CheckinEvent, NoiseEvent } from "./types.js" */

/**
 * Of each sample, or of the whole check-in, whichever is the event's unit.
 *
 * @param {CheckinEvent} event
 * @returns {Loss}
 */
export function lossOf(event) {
  return event.unit === "check-in" ? new Loss({ epsilon: event.epsilon }) : noiseLoss(event, 1);
}

/**
 * When every sample of the check-in is replaced at once: by group privacy nε, or n²ρ.
 *
 * @param {CheckinEvent} event
 * @returns {Loss}
 */
export function wholeLossOf(event) {
  if (event.unit === "check-in") return lossOf(event);
  return noiseLoss(event, event.nTraining + event.nHeldout);
}

/**
 * Releases that looked at the same sample add up; training and held-out samples are disjoint, so
 * the dearer of the two counts: ε_g + ε_e + ε_y, or max(ε_g, ε_e) + ε_y with held-out samples.
 *
 * @param {NoiseEvent} event
 * @param {number} n Samples that are replaced.
 */
function noiseLoss({ releases, delta }, n) {
  const spent = { training: 0, heldout: 0, all: 0 };
  for (const release of releases) spent[release.part] += release.level;
  const level = Math.max(spent.training, spent.heldout) + spent.all;
  return new Loss(delta ? { rho: level, delta } : { epsilon: level }).group(n);
}
