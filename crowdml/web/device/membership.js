/** Keep a device's identity and agreement up to date with its store. */

import { CrowdmlError, InvalidInput, TermsChanged } from "../errors.js";
import { phrase, write } from "../phrase.js";
import { Chance } from "../privacy/chance.js";
import { checkLimits } from "../privacy/ledger.js";
import { Agreement, requireSuccessor } from "./agreement.js";
import { readTerms } from "./enrolment.js";
import { HttpTransport } from "./network/transport.js";
import { withLock } from "./storage/lock.js";
import { RetryTimer } from "./retry_timer.js";

/** @import { DeviceStore, End, Identity, Limits, Options, Phrase } from "../types.js" */

/** Rejections after which this device can never check in again. */
export const FINAL_REJECTIONS = ["revoked", "unauthorized"];

const LEFT_SENTENCE = phrase("this device has left its task. Join again.");

export class Membership extends EventTarget {
  /** @protected @type {End | null} */
  taskEnd = null;
  #identity;
  #hasLeft = false;
  #lastNotice = phrase("");
  #channel;

  /**
   * Use `Device.join` or `Device.open`.
   *
   * @param {DeviceStore} store
   * @param {Identity} identity
   * @param {Agreement} agreement
   * @param {Options} options
   */
  constructor(store, identity, agreement, options) {
    super();
    this.#identity = identity;
    /** @protected */
    this.agreement = agreement;
    /** @protected */
    this.store = store;
    /** @protected */
    this.transport = options.transport ?? new HttpTransport(identity.url, identity.task);
    /** @protected */
    this.chance = options.chance ?? new Chance();
    /** @protected */
    this.retryTimer = options.retryTimer ?? new RetryTimer({ chance: this.chance });
    this.#channel = new BroadcastChannel(store.name);
    this.#channel.onmessage = async () => {
      await this.refresh();
      this.dispatchEvent(new Event("change"));
    };
  }

  /** The terms that were agreed to. */
  get terms() {
    return this.agreement.terms;
  }

  get termsSha256() {
    return this.agreement.termsSha256;
  }

  get identity() {
    return this.#identity;
  }

  /** Why the device has stopped, for good or because the task has ended; or null. */
  get ended() {
    return this.#identity.ended ?? this.taskEnd;
  }

  /** The last phrase for the participant. */
  get lastNotice() {
    return this.#lastNotice;
  }

  /** The terms that the server has now, which may differ from the agreed terms; and their hash. */
  async currentTerms() {
    return readTerms(await this.transport.task(), this.#identity.task);
  }

  /**
   * Pin the task's current terms in place of the old terms, if they are the terms that were shown.
   *
   * @param {string} termsSha256 The hash of what was shown.
   */
  agree(termsSha256) {
    return this.withLock(async () => {
      const { terms, termsSha256: found } = await this.currentTerms();
      if (termsSha256 !== found) {
        throw new TermsChanged(
          "the terms shown were {shown}, the server now has {found}. Read them again before agreeing.",
          { shown: termsSha256, found },
        );
      }
      const old = this.terms;
      await this.#storeIdentity((identity, nSamples) => {
        requireSuccessor(terms, old, nSamples);
        return { ...identity, terms: terms.text };
      });
      return terms;
    });
  }

  /** @param {Limits} limits */
  setLimits(limits) {
    const checked = checkLimits(limits);
    return this.withLock(() => this.#storeIdentity((identity) => ({ ...identity, limits: checked })));
  }

  /** Leave the task: inform the server if possible, and delete everything here. */
  leave() {
    return this.withLock(async () => {
      if (this.#hasLeft) return;
      await this.refresh().catch(() => undefined); // leaving works without reading
      const { token, ended } = this.#identity;
      try {
        // Do not inform a server that has ended this device itself, or that knows already.
        if (!ended || ["copied", "fulfilled"].includes(ended.code)) await this.transport.leave(token);
      } catch (error) {
        if (!(error instanceof CrowdmlError)) throw error;
        this.notify(phrase("left without telling the server: {why}", { why: error.phrase }));
      }
      this.#left();
      await this.store.erase();
      this.#hasLeft = true;
      this.changed();
      this.close();
    });
  }

  close() {
    this.transport.close();
    this.store.close();
    this.#channel.close();
  }

  /** @protected @type {<T>(action: () => Promise<T>) => Promise<T>} */
  withLock(action) {
    return withLock(this.store.name, action);
  }

  /** Read what another tab may have changed; a device that has left stays left. @protected */
  async refresh() {
    if (this.#identity.ended?.code === "left") return;
    const identity = await this.store.identity();
    if (!identity) this.#left();
    else if (!sameAgreement(identity, this.#identity)) await this.#adopt(identity);
  }

  /** @param {(identity: Identity, nSamples: number) => Identity} change */
  async #storeIdentity(change) {
    const changed = await this.store.update((known, nSamples) => {
      if (!known) throw new InvalidInput(LEFT_SENTENCE.template);
      return change(known, nSamples);
    });
    await this.#adopt(changed);
    this.changed();
  }

  /**
   * Follow another agreement, made here or in another tab, which may remove what stopped the
   * device.
   *
   * @param {Identity} identity
   */
  async #adopt(identity) {
    this.agreement = await Agreement.of(identity);
    this.#identity = identity;
    this.retryTimer.clear();
  }

  /** @protected @type {(code: string, why: Phrase) => Promise<void>} */
  async end(code, why) {
    await this.#storeIdentity((identity) => ({ ...identity, ended: { code, phrase: why } }));
  }

  #left() {
    this.#identity = { ...this.#identity, token: "", ended: { code: "left", phrase: LEFT_SENTENCE } };
  }

  /**
   * Tell the participant something, once and not at every sample.
   *
   * @protected
   * @param {Phrase} sentence
   */
  notify(sentence) {
    if (write(sentence) === write(this.#lastNotice)) return;
    this.#lastNotice = sentence;
    this.dispatchEvent(new CustomEvent("notice", { detail: sentence }));
  }

  /** @protected */
  changed() {
    this.dispatchEvent(new Event("change"));
    this.#channel.postMessage("change");
  }
}

/** @type {(a: Identity, b: Identity) => boolean} */
export function sameAgreement(a, b) {
  const limits = a.limits.perSample === b.limits.perSample && a.limits.perDevice === b.limits.perDevice;
  return limits && a.terms === b.terms && !a.ended === !b.ended && a.token === b.token;
}
