/**
 * Name what happened to a sample, or to an attempt to check in.
 *
 * The sample was kept unless the outcome is `FULL` or `ENDED`.
 */
export const Outcome = Object.freeze({
  COLLECTED: "collected",
  CHECKED_IN: "checked in",
  WAITING: "waiting to retry",
  PAUSED: "task paused",
  LIMIT: "privacy limit reached",
  TERMS: "terms changed",
  FULL: "buffer full",
  ENDED: "ended",
});

/** @typedef {(typeof Outcome)[keyof typeof Outcome]} OutcomeName */
