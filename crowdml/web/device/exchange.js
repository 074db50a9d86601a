/** Exchange check-ins with the server: Device Routines 2 and 3, and the handling of rejections. */

import { LimitReached, Rejected, TermsChanged, Unreachable } from "../errors.js";
import { phrase } from "../phrase.js";
import { FINAL_REJECTIONS, Membership, sameAgreement } from "./membership.js";
import { Outcome } from "./outcome.js";
import { SLOT } from "./retry_timer.js";

/** @import { WrittenCheckin, OutcomeName } from "../types.js" */

/** Rejections after which the same bytes may still be accepted later. */
export const RETRIABLE_REJECTIONS = [
  "fault", "method-not-allowed", "not-found", "task-paused", "too-frequent", "unavailable",
  "unknown",
];

const LONGEST_WAIT = 3600;

/** How the answer to a rejected check-in starts in the device's database; it is stored, so it stays. */
export const REJECTED = "rejected: ";

const ALL_MADE = phrase("all check-ins that you agreed to are made. Thank you.");

const COPIED = phrase(
  "another copy of this device has sent check-ins that this copy did not know. They are in the " +
    "ledger now, and this copy sends nothing more. To go on, leave and join again: what you send " +
    "then adds to what you have lost.",
);
const COPY_END = { code: "copied", phrase: COPIED };

/** Report that another copy of the device has sent check-ins; they are in the ledger. */
class CopyFound extends Error {}

export class Exchange extends Membership {
  /** Whether terms and limits have no room for another minibatch. */
  async isAtLimit() {
    try {
      await this.#approve(this.terms.collection.batch);
      return await this.#fulfilled();
    } catch (error) {
      if (error instanceof LimitReached) return true;
      throw error;
    }
  }

  /** Send the check-in that waits, then check in a full minibatch, if the time has come. */
  sync() {
    return this.withLock(() => this.#sync());
  }

  /** Send what may be sent now, without waiting any longer. */
  retry() {
    return this.withLock(() => {
      this.retryTimer.clear();
      return this.#sync();
    });
  }

  async #sync() {
    await this.refresh();
    if (this.ended !== null) return Outcome.ENDED;
    if (!(await this.#hasWork())) return Outcome.COLLECTED;
    if (await this.#batchIsFull()) this.retryTimer.batchFilled();
    if (!this.retryTimer.isDue) return this.retryTimer.reason;
    try {
      return await this.#attempt();
    } catch (error) {
      return await this.#failed(error);
    }
  }

  /** Run one round: send a check-in that waits first, then a new check-in. */
  async #attempt() {
    /** @type {OutcomeName} */
    let outcome = Outcome.COLLECTED;
    const old = await this.store.pendingCheckin();
    if (old) outcome = await this.#send(old);
    if ((await this.#batchIsFull()) && !(await this.#fulfilled())) {
      const checkin = await this.#release();
      if (checkin) outcome = await this.#send(checkin);
    }
    this.retryTimer.clear();
    if (await this.#fulfilled()) await this.end("fulfilled", ALL_MADE);
    return outcome;
  }

  /** Check out w and turn the buffer into one sanitised check-in. */
  async #release() {
    const agreement = this.agreement;
    const mine = this.identity;
    if (await this.store.endIfOvertaken(COPY_END)) throw new CopyFound();
    // Ask before the check-out, so that a spent budget causes no traffic.
    const approval = await this.#approve(await this.store.nSamples());
    const checkedOut = await this.transport.checkout(mine.token, approval.event.role);
    const parameters = await agreement.accept(checkedOut);
    this.#step("checked out");
    const start = performance.now();
    const checkin = await this.store.release((x, y, ledger, identity) => {
      if (!identity || !sameAgreement(identity, mine)) return undefined;
      const { version } = checkedOut.checkout;
      const written = agreement.write(approval, version, parameters, x, y, ledger, this.chance);
      this.#step("sanitised");
      return written;
    }, approval.nSamples);
    if (checkin) {
      this.#step("stored");
      this.changed();
      // Wait for the end of a slot, so that the time for drawing and for the samples does not show.
      const slot = 1000 * SLOT * this.terms.slots;
      const rest = slot - ((performance.now() - start) % slot);
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
    return checkin;
  }

  /** @param {number} nSamples */
  async #approve(nSamples) {
    return this.agreement.approve(await this.store.ledger(), nSamples);
  }

  /** Whether all check-ins that were agreed to are made. */
  async #fulfilled() {
    if (this.terms.collection.checkins === null) return false;
    return this.agreement.fulfilled(await this.store.ledger());
  }

  /** @param {WrittenCheckin} checkin */
  async #send(checkin) {
    if (!(await this.store.claim(checkin))) {
      await this.store.storeAnswer(checkin, `${REJECTED}repeated-number`);
      await this.store.endIfOvertaken(COPY_END);
      throw new CopyFound();
    }
    this.#step("booked");
    try {
      const { status, version } = await this.transport.checkin(this.identity.token, checkin.body);
      this.#step("sent");
      await this.store.storeAnswer(checkin, status, version);
    } catch (error) {
      if (error instanceof Rejected && error.kind === "repeated-number") {
        await this.store.chargeCopy(checkin, REJECTED + error.kind, COPY_END);
        throw new CopyFound();
      }
      if (error instanceof Rejected && !RETRIABLE_REJECTIONS.includes(error.kind)) {
        await this.store.storeAnswer(checkin, REJECTED + error.kind);
        this.changed();
      }
      throw error;
    }
    this.#step("acknowledged");
    this.changed();
    return Outcome.CHECKED_IN;
  }

  /** @param {unknown} error */
  async #failed(error) {
    if (error instanceof Rejected) return this.#handleRejection(error);
    if (error instanceof CopyFound) {
      this.notify(COPIED);
      await this.end(COPY_END.code, COPY_END.phrase);
      return Outcome.ENDED;
    }
    if (error instanceof LimitReached) {
      this.notify(error.phrase);
      return Outcome.LIMIT;
    }
    if (error instanceof TermsChanged) {
      this.notify(error.phrase);
      return this.#awaitConsent();
    }
    if (!(error instanceof Unreachable)) throw error;
    this.notify(phrase("{why} Samples are kept; will try again.", { why: error.phrase }));
    return this.retryTimer.waitAfterFailure(Outcome.WAITING, requestedWait(error.retryAfter));
  }

  /**
   * Handle a rejection: end, ask, wait, or go on with the next minibatch.
   *
   * `tests/vectors/behaviour.json` says what every device does after each kind.
   *
   * @param {Rejected} error
   */
  async #handleRejection(error) {
    this.notify(phrase("the server rejected the request: {why}", { why: error.phrase }));
    if (FINAL_REJECTIONS.includes(error.kind)) {
      await this.end(error.kind, error.phrase);
      return Outcome.ENDED;
    }
    const allMade = (await this.#fulfilled()) && !(await this.store.pendingCheckin());
    if (error.kind === "too-many-checkins" || allMade) {
      await this.end("fulfilled", ALL_MADE);
      return Outcome.ENDED;
    }
    if (error.kind === "task-finished") {
      // The owner may reopen the task: the device asks again when the page is opened again.
      this.taskEnd = { code: error.kind, phrase: error.phrase };
      return Outcome.ENDED;
    }
    if (error.kind === "terms-changed") return this.#awaitConsent();
    const paused = error.kind === "task-paused";
    const atLeast = requestedWait(error.extra["retry_after"]);
    return this.retryTimer.waitAfterFailure(paused ? Outcome.PAUSED : Outcome.WAITING, atLeast);
  }

  /** Stop trying until the participant agrees, or opens the page again. */
  #awaitConsent() {
    return this.retryTimer.waitAfterFailure(Outcome.TERMS, Infinity);
  }

  async #batchIsFull() {
    return (await this.store.nSamples()) >= this.terms.collection.batch;
  }

  async #hasWork() {
    if (this.ended !== null) return false;
    return (await this.store.pendingCheckin()) || (await this.#batchIsFull()) || (await this.#fulfilled());
  }

  /** @param {string} name */
  #step(name) {
    this.dispatchEvent(new CustomEvent("step", { detail: name }));
  }
}

/** @param {unknown} retryAfter The seconds that the server asks to wait. */
function requestedWait(retryAfter) {
  return typeof retryAfter === "number" && retryAfter >= 0 ? Math.min(retryAfter, LONGEST_WAIT) : 0;
}
