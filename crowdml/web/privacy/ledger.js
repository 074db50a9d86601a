/** Keep the ledger: what a device has sent, and whether it may send more. */

import { InvalidInput, LimitReached } from "../errors.js";
import { eventKindOf } from "../mechanisms/index.js";
import { Loss, within } from "./loss.js";

/** @import { CheckinEvent, Limits } from "../types.js" */

/** @param {CheckinEvent} event */
export const lossOf = (event) => eventKindOf(event).loss(event);

/** @param {CheckinEvent} event */
export const wholeLossOf = (event) => eventKindOf(event).wholeLoss(event);

/** @param {Limits} limits */
export function checkLimits(limits) {
  for (const name of /** @type {const} */ (["perSample", "perDevice"])) {
    const value = limits[name];
    if (typeof value !== "number" || !(value > 0)) {
      throw new InvalidInput(
        "the {name} limit must be positive, found {value}. To stop taking part, leave the task " +
          "instead.",
        { name, value: String(value) },
      );
    }
  }
  return { perSample: limits.perSample, perDevice: limits.perDevice };
}

/**
 * Account for check-ins, append-only. Every sample is used in only one check-in, so a sample loses
 * what its own check-in costs, while for the device as a whole the check-ins add up.
 */
export class Ledger {
  /** @param {readonly CheckinEvent[]} [events] */
  constructor(events = []) {
    this.events = events;
  }

  /** @param {readonly {event: CheckinEvent}[]} lines */
  static of(lines) {
    return new Ledger(lines.map((line) => line.event));
  }

  /** The largest ε that any one sample has lost. */
  get epsilonPerSample() {
    return this.events.reduce((most, event) => Math.max(most, lossOf(event).total), 0);
  }

  /** Over all check-ins: the ε for changing one sample in every check-in. */
  get epsilonSpent() {
    return Loss.sum(this.events.map(lossOf)).total;
  }

  /** The ε for replacing everything that was ever used: what the whole person has lost. */
  get epsilonPerPerson() {
    return Loss.sum(this.events.map(wholeLossOf)).total;
  }

  /**
   * Throw `LimitReached` unless the event fits into both limits.
   *
   * @type {(event: CheckinEvent, limits: Limits) => void}
   */
  require(event, limits) {
    const cost = lossOf(event).total;
    const spent = this.epsilonSpent;
    if (!within(cost, limits.perSample, cost)) {
      throw new LimitReached(
        "the limit for one sample is ε = {limit} and a check-in costs {cost}. Nothing more is " +
          "sent; raise the limit to go on.",
        { limit: limits.perSample, cost },
      );
    }
    if (!within(this.charge(event).epsilonSpent, limits.perDevice, cost)) {
      throw new LimitReached(
        "the device limit is ε = {limit}; {spent} is spent and a check-in costs {cost}. Nothing " +
          "more is sent; raise the limit to go on.",
        { limit: limits.perDevice, spent, cost },
      );
    }
  }

  /** @param {CheckinEvent} event */
  charge(event) {
    return new Ledger([...this.events, event]);
  }
}
