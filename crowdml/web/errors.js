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
 * A message states the rule, the value found and what to do.
 */

export class CrowdmlError extends Error {
  /**
   * @param {string} message
   * @param {{cause?: unknown}} [options]
   */
  constructor(message, options) {
    super(message, options);
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
   * @param {string} message
   * @param {{cause?: unknown, retryAfter?: unknown}} [options] `retryAfter`: what the server said
   *   about when to ask again; not checked.
   */
  constructor(message, { cause, retryAfter } = {}) {
    super(message, { cause });
    this.retryAfter = retryAfter;
  }
}

export class Rejected extends CrowdmlError {
  /**
   * @param {string} kind The stable last part of the problem's `type`, such as `stale-version`.
   * @param {number} status The HTTP status.
   * @param {string} detail The server's sentence for people.
   * @param {Readonly<Record<string, unknown>>} [extra] Further members, such as `retry_after`.
   */
  constructor(kind, status, detail, extra = {}) {
    super(detail);
    this.kind = kind;
    this.status = status;
    this.detail = detail;
    this.extra = extra;
  }
}
