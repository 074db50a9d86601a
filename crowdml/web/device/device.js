/** Run Algorithm 1: a device that collects, checks out, sanitises and checks in. */

import { TermsChanged } from "../errors.js";
import { phrase } from "../phrase.js";
import { targetOf } from "../privacy/features.js";
import { scaledFeatures } from "../protocol/features.js";
import { Agreement } from "./agreement.js";
import { enrol } from "./enrolment.js";
import { Exchange } from "./exchange.js";
import { sameAgreement } from "./membership.js";
import { HttpTransport, serverRoot } from "./network/transport.js";
import { Outcome } from "./outcome.js";
import { withLock } from "./storage/lock.js";
import { DeviceStore } from "./storage/store.js";

/** @import { Identity, Kept, Options, JoinOptions, Readings } from "../types.js" */

export { RETRIABLE_REJECTIONS } from "./exchange.js";
export { FINAL_REJECTIONS } from "./membership.js";

/**
 * Take part in one task.
 *
 *     const device = await Device.join("activity");
 *     await device.add(x, y);
 *     await device.leave();
 *
 * Events: `change` when anything that the device knows has changed, in this tab or another;
 * `step` with the name of each step of a check-in as its `detail`; `notice` with a phrase for the
 * participant as its `detail`.
 */
export class Device extends Exchange {
  /**
   * Join a task, or go on with it if this browser has joined it before.
   *
   * The server's terms are pinned. Joining again changes nothing.
   *
   * @param {string} task The task's name.
   * @param {Options & JoinOptions} [options]
   */
  static async join(task, options = {}) {
    const url = serverRoot(options.url);
    const device = await Device.#load(url, task, options, (store) =>
      withLock(store.name, async () => {
        const known = await store.identity();
        if (known) return known;
        const transport = options.transport ?? new HttpTransport(url, task);
        const identity = await enrol(transport, url, task, options);
        return store.join(identity);
      }),
    );
    // Otherwise a browser that is short of space may delete the device. Do not wait for the answer.
    navigator.storage.persist().catch(() => undefined);
    return /** @type {Device} */ (device);
  }

  /**
   * Open the device of a task that this browser has joined; return undefined if it has not.
   *
   * @param {string} task
   * @param {Options} [options]
   */
  static async open(task, options = {}) {
    return Device.#load(serverRoot(options.url), task, options, (store) => store.identity());
  }

  /**
   * @param {string} url
   * @param {string} task
   * @param {Options} options
   * @param {(store: DeviceStore) => Promise<Identity | undefined>} identify
   */
  static async #load(url, task, options, identify) {
    const store = await DeviceStore.open(url, task);
    try {
      const identity = await identify(store);
      if (identity) return new Device(store, identity, await Agreement.of(identity), options);
    } catch (error) {
      store.close();
      throw error;
    }
    store.close();
    return undefined;
  }

  /** Seconds until the next attempt; 0 if the time has come. */
  get wait() {
    return this.retryTimer.seconds;
  }

  /** Whether the device waits because the server has said how long. */
  get askedToWait() {
    return this.retryTimer.asked;
  }

  /** What the next attempt waits for. */
  get waitsFor() {
    return this.retryTimer.reason;
  }

  ledger() {
    return this.store.ledger();
  }

  /** Every check-in, in order: what was sent, what was hidden, and what was answered. */
  history() {
    return this.store.history();
  }

  /** Return what is kept of the task for times without a network. */
  readKept() {
    return this.store.readKept();
  }

  /**
   * Keep more of the task, and return everything that is kept.
   *
   * @param {Kept} more
   */
  updateKept(more) {
    return this.store.updateKept(more);
  }

  /** Samples in the buffer. */
  nSamples() {
    return this.store.nSamples();
  }

  /** Whether a check-in waits to be sent or answered. */
  async pending() {
    return (await this.store.pendingCheckin()) !== undefined;
  }

  /** What the crowd has learnt so far: the exported model, if it is on the agreed terms. */
  async parameters() {
    const checkedOut = await this.transport.checkout(this.identity.token, "evaluate");
    return (await this.agreement.accept(checkedOut)).w;
  }

  /**
   * Keep a sample, and check in if a minibatch is full and the time has come.
   *
   * @param {Readings} x D numbers, or an object that has each by the name of its column. The terms'
   *   constants are applied, then it is rescaled to ‖x‖ ≤ 1 if longer.
   * @param {number | string} y A label by its name, or a real target.
   * @param {string} [termsSha256] The terms that it was taken under: it is rejected under others,
   *   which another tab may have agreed to.
   */
  async add(x, y, termsSha256) {
    if (!(await this.#keep(x, y, termsSha256))) {
      const outcome = await this.sync();
      const kept = await this.#keep(x, y, termsSha256);
      if (this.ended !== null) return Outcome.ENDED;
      if (!kept) {
        const why = phrase(outcome);
        this.notify(phrase("the buffer is full: collection has stopped ({why}).", { why }));
        return Outcome.FULL;
      }
    }
    this.changed();
    return this.sync();
  }

  /**
   * Keep a sample; return false if the buffer is full or the device has ended.
   *
   * @type {(x: Readings, y: number | string, termsSha256: string | undefined) => Promise<boolean>}
   */
  async #keep(x, y, termsSha256) {
    await this.refresh();
    if (termsSha256 !== undefined && termsSha256 !== this.termsSha256) {
      throw new TermsChanged("this sample was taken under other terms. It was not kept.");
    }
    const { terms, norm } = this.agreement;
    const features = scaledFeatures(terms.features, x, norm);
    const target = targetOf(y, terms.target.labels);
    if (this.ended !== null) return false;
    let current = true;
    const kept = await this.store.add(features, target, (identity, nSamples) => {
      current = identity !== undefined && sameAgreement(identity, this.identity);
      return current && nSamples < terms.collection.buffer;
    });
    // If another tab has just agreed to other terms, check again, by the new terms.
    return current ? kept : this.#keep(x, y, termsSha256);
  }
}
