/** What was agreed to, put to work: Device Routines 2 and 3, with every promise checked. */

import { decodeParameters, encodeGradient } from "./codec.js";
import { InvalidInput, Rejected, TermsChanged, Unreachable } from "./errors.js";
import { chooseHeldout, summarize } from "./routines.js";
import { Terms, termsHash } from "./terms.js";

/** @import { Ledger } from "./ledger.js" */
/** @import { Chance, CheckedOut, CheckinRelease, Limits, Rows, Written } from "./types.js" */

/** The pinned terms and the limits. Nothing that a server says later enters here, but w. */
export class Agreement {
  #limits;
  #model;
  #sanitizer;

  /**
   * @param {string} text
   * @param {string} termsSha256
   * @param {Limits} limits
   */
  constructor(text, termsSha256, limits) {
    this.terms = Terms.parse(text);
    this.termsSha256 = termsSha256;
    this.#limits = limits;
    this.#model = this.terms.makeModel();
    this.#sanitizer = this.terms.sanitizer();
  }

  /** @param {{terms: string, limits: Limits}} identity */
  static async of({ terms, limits }) {
    return new Agreement(terms, await termsHash(terms), limits);
  }

  /**
   * The parameters of a check-out, if it is on the agreed terms and makes sense.
   *
   * @param {CheckedOut} checkedOut
   * @returns {Float64Array<ArrayBuffer>}
   */
  accept({ checkout, termsSha256 }) {
    if (termsSha256 !== this.termsSha256) {
      throw new TermsChanged(
        `the server now asks for the terms ${termsSha256}, agreed are ${this.termsSha256}. ` +
          "Nothing is sent until the participant agrees again.",
      );
    }
    if (checkout.state === "paused") throw new Rejected("task-paused", 409, "the task is paused.");
    if (checkout.state !== "running") {
      throw new Rejected("task-finished", 409, `the task has ended: ${checkout.state}.`);
    }
    try {
      return decodeParameters(checkout.parameters, this.#sanitizer.size);
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      throw new Unreachable(`the server's answer makes no sense: ${error.message}`, {
        cause: error,
      });
    }
  }

  /**
   * What a check-in of so many samples will tell; `LimitReached` if that is too much.
   *
   * @param {Ledger} ledger
   * @param {number} nSamples
   * @returns {CheckinRelease}
   */
  requireBudget(ledger, nSamples) {
    const event = this.terms.event(nSamples);
    ledger.require(event, this.#limits);
    return event;
  }

  /**
   * A minibatch as a letter that may leave, and what it tells; undefined for fewer than b.
   *
   * The ledger approves one event; the noise is that event's, and the caller books it.
   *
   * @param {number} version
   * @param {Float64Array} w
   * @param {Rows} x
   * @param {readonly number[]} y
   * @param {Ledger} ledger
   * @param {Chance} chance
   * @returns {Written | undefined}
   */
  write(version, w, x, y, ledger, chance) {
    if (x.length < this.terms.collection.batch) return undefined;
    const event = this.requireBudget(ledger, x.length);
    const heldout = chooseHeldout(x.length, event.nHeldout, chance);
    const truth = summarize(this.#model, w, x, y, heldout, this.#sanitizer.clip);
    const sanitized = this.#sanitizer.sanitize(truth, w, event, chance);
    const message = {
      id: chance.token(),
      version,
      terms: this.termsSha256,
      samples: x.length,
      heldout: event.nHeldout,
      errors: sanitized.nErrors,
      labels: sanitized.nLabels,
      grid: sanitized.grid,
      gradient: encodeGradient(sanitized.gradient),
    };
    const body = new TextEncoder().encode(JSON.stringify(message));
    return { letter: { id: message.id, body }, event, truth };
  }
}
