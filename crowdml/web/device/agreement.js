/** Apply what was agreed to: Device Routines 2 and 3, with every promise checked. */

import { InvalidInput, NotPrivate, Rejected, TermsChanged } from "../errors.js";
import { phrase } from "../phrase.js";
import { checkinKeyOf } from "../privacy/checkin_key.js";
import { Minibatch } from "../privacy/minibatch.js";
import { decodeBytes, decodeParameters } from "../protocol/codec.js";
import { checkStart } from "../protocol/start.js";
import { Terms, termsHash } from "../protocol/terms.js";
import { countRight } from "./personal_accuracy.js";
import { nonsense } from "./network/transport.js";

/** @import { AgreedTerms, Approval, CheckedOut, Checkout, Ledger, WriteCheckin } from "../types.js" */

/** Hold the pinned terms and the limits. Of what a server says later, only w is used here. */
export class Agreement {
  #agreed;
  #model;
  #mechanism;

  /**
   * @param {AgreedTerms} agreed
   * @param {string} termsSha256
   */
  constructor(agreed, termsSha256) {
    this.terms = Terms.parse(agreed.terms);
    this.termsSha256 = termsSha256;
    this.#agreed = agreed;
    this.#model = this.terms.makeModel();
    this.#mechanism = this.terms.mechanism();
  }

  /** @param {AgreedTerms} agreed */
  static async of(agreed) {
    return new Agreement(agreed, await termsHash(agreed.terms));
  }

  get norm() {
    return this.#mechanism.norm;
  }

  /** @param {Ledger} ledger */
  fulfilled({ events }) {
    return events.length >= (this.terms.collection.checkins ?? Infinity);
  }

  /**
   * Return the parameters of a check-out if it is on the agreed terms and valid. Version 0 of a
   * task with a start must be that start.
   *
   * @param {CheckedOut} checkedOut
   */
  async accept({ checkout, termsSha256 }) {
    if (termsSha256 !== this.termsSha256) {
      throw new TermsChanged(
        "the server now asks for the terms {found}, agreed are {agreed}. Nothing is sent until " +
          "the participant agrees again.",
        { found: termsSha256, agreed: this.termsSha256 },
      );
    }
    if (checkout.state === "paused") {
      throw new Rejected("task-paused", 409, phrase("the task is paused."));
    }
    if (checkout.state !== "running") {
      const { code, phrase: why } = taskEnded(checkout);
      throw new Rejected(code, 409, why);
    }
    try {
      const { parameters, exported } = checkout;
      const w = await this.#decoded(checkout, parameters);
      return { w, exported: exported === null ? null : await this.#decoded(checkout, exported) };
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      throw nonsense(error.phrase, error);
    }
  }

  /** @type {(checkout: Checkout, parameters: string) => Promise<Float64Array>} */
  async #decoded({ version }, parameters) {
    const { size } = this.#model;
    const { start } = this.terms.model;
    const w = decodeParameters(parameters, size);
    if (start && version === 0) await checkStart(start, decodeBytes(parameters, size, "parameters"));
    return w;
  }

  /**
   * Make the next check-in's event, and throw `LimitReached` if it costs too much.
   *
   * @type {(ledger: Ledger, nSamples: number) => Promise<Approval>}
   */
  async approve(ledger, nSamples) {
    const number = ledger.events.length + 1;
    const key = await checkinKeyOf(this.termsSha256, this.#agreed.device, number);
    const event = this.#mechanism.event(nSamples, key);
    ledger.require(event, this.#agreed.limits);
    return { key, event, nSamples };
  }

  /**
   * Write a minibatch as a check-in that may leave. Return undefined if there are fewer samples
   * than were approved, or if another tab has sent a check-in since the approval.
   *
   * @type {WriteCheckin}
   */
  write({ key, event, nSamples }, version, { w, exported }, x, y, ledger, chance) {
    if (x.length !== nSamples || nSamples < this.terms.collection.batch) return undefined;
    if (this.fulfilled(ledger) || key.number !== ledger.events.length + 1) return undefined;
    const minibatch = new Minibatch(this.#model, w, x, y, exported);
    const { payload, truth } = this.#mechanism.makePayload(minibatch, event, key, chance);
    const message = { id: chance.randomId(), version, terms: this.termsSha256, ...payload };
    const body = new TextEncoder().encode(JSON.stringify(message));
    const counted = countRight(this.#model, exported ?? w, x, y);
    return { checkin: { id: message.id, body }, event, truth, tally: counted };
  }
}

/** @type {Record<string, ReturnType<typeof phrase>>} Why a task has ended, by its final state. */
const ENDINGS = {
  reached: phrase("its target error is reached"),
  exhausted: phrase("all its check-ins are in"),
  stopped: phrase("its owner stopped it"),
};

/**
 * Explain why a device stops when its task has ended.
 *
 * @param {{state: string}} checkout
 */
export function taskEnded(checkout) {
  const why = phrase("the task has ended: {state}.", { state: ENDINGS[checkout.state] ?? checkout.state });
  return { code: "task-finished", phrase: why };
}

/**
 * Throw unless a device may go on with these terms, and with the samples that wait.
 *
 * @type {(terms: Terms, old: Terms, nSamples: number) => void}
 */
export function requireSuccessor(terms, old, nSamples) {
  if (!terms.private && old.private) {
    throw new NotPrivate("the task {task} is no longer private. Leave it, or join anew.", {
      task: terms.task,
    });
  }
  if (nSamples && !sameShape(terms, old)) {
    throw new InvalidInput(
      "{n} samples in the buffer do not fit the new terms. Leave and join again to discard them.",
      { n: nSamples },
    );
  }
}

/**
 * Decide whether samples taken under one of the terms are valid under the other.
 *
 * @type {(a: Terms, b: Terms) => boolean}
 */
function sameShape(a, b) {
  const shape = (/** @type {Terms} */ { features, target }) => [{ ...features, description: "" }, target.labels];
  return JSON.stringify(shape(a)) === JSON.stringify(shape(b));
}
