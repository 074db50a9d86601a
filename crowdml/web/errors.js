/**
 * Every error that crowdml raises on purpose.
 *
 * CrowdmlError
 * ├── InvalidInput          a value breaks a rule; nothing was changed
 * │   ├── InvalidSample
 * │   └── InvalidTask
 * ├── PrivacyError          continuing would break a promise made to the participant
 * │   ├── LimitReached
 * │   ├── NotPrivate
 * │   └── TermsChanged
 * ├── DeviceError           the device's memory in this browser cannot be used as asked
 * ├── Unreachable           the network or the server failed; try again later
 * └── Rejected              the server said no, with an RFC 9457 problem
 *
 * A message states the rule, the value found and what to do, in English; `phrase` says it in any
 * language.
 */

import { phrase, write } from "./phrase.js";

/** @import { Phrase } from "./types.js" */

export class CrowdmlError extends Error {
  /**
   * @param {string} template
   * @param {Phrase["values"]} [values]
   * @param {{cause?: unknown}} [options]
   */
  constructor(template, values, options) {
    const said = phrase(template, values);
    super(write(said), options);
    this.phrase = said;
    this.name = new.target.name;
  }
}

export class InvalidInput extends CrowdmlError {}

export class InvalidSample extends InvalidInput {}

export class InvalidTask extends InvalidInput {}

export class PrivacyError extends CrowdmlError {}

export class LimitReached extends PrivacyError {}

export class NotPrivate extends PrivacyError {}

export class TermsChanged extends PrivacyError {}

export class DeviceError extends CrowdmlError {}

export class Unreachable extends CrowdmlError {
  /**
   * @param {string} template
   * @param {Phrase["values"]} [values]
   * @param {{cause?: unknown, retryAfter?: unknown}} [options] `retryAfter`: what the server said
   *   about when to ask again; not checked.
   */
  constructor(template, values, { cause, retryAfter } = {}) {
    super(template, values, { cause });
    this.retryAfter = retryAfter;
  }
}

export class Rejected extends CrowdmlError {
  /**
   * @param {string} kind The stable last part of the problem's `type`, such as `stale-version`.
   * @param {number} status The HTTP status.
   * @param {Phrase} detail The server's sentence for people.
   * @param {Readonly<Record<string, unknown>>} [extra] Further members, such as `retry_after`.
   */
  constructor(kind, status, { template, values }, extra = {}) {
    super(template, values);
    this.kind = kind;
    this.status = status;
    this.extra = extra;
  }
}
