/**
 * What became of a sample, or of an attempt to check in.
 *
 * The sample was kept in all cases but `FULL` and `ENDED`.
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
