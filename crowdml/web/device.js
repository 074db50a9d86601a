/** Algorithm 1: a device that collects, checks out, sanitises and checks in. */

import { Agreement } from "./agreement.js";
import { Chance } from "./chance.js";
import { enrol, readTerms } from "./enrolment.js";
import {
  CrowdmlError,
  InvalidInput,
  LimitReached,
  NotPrivate,
  Rejected,
  TermsChanged,
  Unreachable,
} from "./errors.js";
import { boundFeatures, checkTarget } from "./features.js";
import { checkLimits } from "./ledger.js";
import { alone } from "./lock.js";
import { Outcome } from "./outcome.js";
import { phrase, write } from "./phrase.js";
import { DeviceStore } from "./store.js";
import { HttpTransport, serverRoot } from "./transport.js";
import { SLOT as SLOT_SECONDS, Waiting } from "./waiting.js";

/** @import { OutcomeName } from "./outcome.js" */
/** @import { Terms } from "./terms.js" */
/** @import { End, Identity, Letter, Limits, Options, Phrase, Transport, Wishes } from "./types.js" */

/** Refusals after which this device stops; all but the end of a task are for good. */
export const GIVE_UP_ON = ["revoked", "task-finished", "unauthorized"];

/** Refusals after which the same bytes may still be accepted later. */
export const KEEP_AFTER = [
  "fault",
  "method-not-allowed",
  "not-found",
  "task-paused",
  "too-frequent",
  "unavailable",
  "unknown",
];

const LONGEST_WAIT = 3600;

/** In milliseconds. */
const SLOT = 1000 * SLOT_SECONDS;

const ALL_MADE = phrase("all check-ins that you agreed to are made. Thank you.");
const LEFT = phrase("this device has left its task. Join again.");

/**
 * Takes part in one task.
 *
 *     const device = await Device.join("activity");
 *     await device.add(x, y);
 *     await device.leave();
 *
 * Events: `change` when anything that the device knows has changed, in this tab or another;
 * `step` with the name of each step of a check-in as its `detail`; `say` with a phrase for the
 * participant as its `detail`.
 */
export class Device extends EventTarget {
  #store;
  #identity;

  /** @type {End | null} */
  #over = null;
  #gone = false;
  #agreement;
  #transport;
  #chance;
  #waiting;
  #said = phrase("");
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
    this.#store = store;
    this.#identity = identity;
    this.#agreement = agreement;
    this.#transport = transportOf(identity, options);
    this.#chance = options.chance ?? new Chance();
    this.#waiting = options.waiting ?? new Waiting({ chance: this.#chance });
    this.#channel = new BroadcastChannel(store.name);
    this.#channel.onmessage = () => this.#news();
  }

  /**
   * Join a task, or go on with it if this browser has joined it before.
   *
   * The server's terms are pinned. Joining again changes nothing.
   *
   * @param {string} task The task's name.
   * @param {Options & Wishes} [options]
   * @returns {Promise<Device>}
   */
  static async join(task, options = {}) {
    const url = serverRoot(options.url);
    const device = await Device.#load(url, task, options, (store) =>
      alone(store.name, async () => {
        const known = await store.identity();
        if (known) return known;
        const transport = transportOf({ url, task }, options);
        const identity = await enrol(transport, url, task, options);
        return store.update((other) => other ?? identity);
      }),
    );
    // Without this a browser short of space may forget the device. It is asked, not waited for.
    globalThis.navigator?.storage?.persist?.().catch(() => undefined);
    return /** @type {Device} */ (device);
  }

  /**
   * Go on with a task that this browser has joined; undefined if it has not.
   *
   * @param {string} task
   * @param {Options} [options]
   * @returns {Promise<Device | undefined>}
   */
  static async open(task, options = {}) {
    return Device.#load(serverRoot(options.url), task, options, (store) => store.identity());
  }

  /**
   * @param {string} url
   * @param {string} task
   * @param {Options} options
   * @param {(store: DeviceStore) => Promise<Identity | undefined>} identify
   * @returns {Promise<Device | undefined>}
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

  // What a participant can ask

  /** What was agreed to. */
  get terms() {
    return this.#agreement.terms;
  }

  get termsSha256() {
    return this.#agreement.termsSha256;
  }

  get identity() {
    return this.#identity;
  }

  /**
   * Why the device has stopped, for good or because the task has ended; or null.
   *
   * @returns {End | null}
   */
  get ended() {
    return endOf(this.#identity) ?? this.#over;
  }

  /** The last phrase for the participant. */
  get said() {
    return this.#said;
  }

  /** Seconds until the next attempt; 0 if the time has come. */
  get wait() {
    return this.#waiting.seconds;
  }

  /** What the next attempt waits for. */
  get waitsFor() {
    return this.#waiting.why;
  }

  ledger() {
    return this.#store.ledger();
  }

  /** Every check-in, in order: what was told, what was hidden, what was answered. */
  history() {
    return this.#store.history();
  }

  /** Samples in the buffer. */
  nSamples() {
    return this.#store.nSamples();
  }

  /** Whether terms and limits have no room for another minibatch. */
  async limited() {
    try {
      await this.#approve(this.terms.collection.batch);
      return await this.#fulfilled();
    } catch (error) {
      if (error instanceof LimitReached) return true;
      throw error;
    }
  }

  /** Whether a check-in waits to be sent or answered. */
  async pending() {
    return (await this.#store.pending()) !== undefined;
  }

  /** What the crowd has learnt so far: w, if it is on the agreed terms. */
  async parameters() {
    return this.#agreement.accept(await this.#transport.checkout(this.#identity.token));
  }

  // Routine 1

  /**
   * Keep a sample, and check in if a minibatch is full and the time has come.
   *
   * @param {ArrayLike<number>} x D numbers; rescaled to ‖x‖ ≤ 1 if longer.
   * @param {number} y A label 0 … C−1, or a real target.
   * @param {string} [termsSha256] The terms that it was taken under: it is refused under others,
   *   which another tab may have agreed to.
   * @returns {Promise<OutcomeName>}
   */
  async add(x, y, termsSha256) {
    if (!(await this.#keep(x, y, termsSha256))) {
      const outcome = await this.sync();
      const kept = await this.#keep(x, y, termsSha256);
      if (this.ended !== null) return Outcome.ENDED;
      if (!kept) {
        const why = phrase(outcome);
        this.#say(phrase("the buffer is full: collection has stopped ({why}).", { why }));
        return Outcome.FULL;
      }
    }
    this.#changed();
    return this.sync();
  }

  /**
   * Send what waits, then check in a full minibatch, if the time has come.
   *
   * @returns {Promise<OutcomeName>}
   */
  sync() {
    return this.#alone(() => this.#sync());
  }

  /**
   * Send what may be sent now, however long it was to wait.
   *
   * @returns {Promise<OutcomeName>}
   */
  retry() {
    return this.#alone(() => {
      this.#waiting.clear();
      return this.#sync();
    });
  }

  /**
   * Retry until nothing is left that may be sent, or the time is over.
   *
   * @param {number} [seconds]
   * @returns {Promise<OutcomeName>}
   */
  async flush(seconds = 60) {
    const deadline = performance.now() + seconds * 1000;
    /** @type {readonly OutcomeName[]} */
    const final = [Outcome.LIMIT, Outcome.TERMS, Outcome.ENDED];
    for (;;) {
      const outcome = await this.sync();
      const left = deadline - performance.now();
      if (left <= 0 || final.includes(outcome) || !(await this.#somethingToDo())) return outcome;
      const pause = Math.min(Math.max(this.wait * 1000, 10), left);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  // What a participant can decide

  /** The terms that the server has now, which may be others than those agreed to; their hash. */
  async currentTerms() {
    return readTerms(await this.#transport.task(), this.#identity.task);
  }

  /**
   * Pin the task's current terms in place of the old ones, if they are those that were shown.
   *
   * @param {string} termsSha256 The hash of what was shown.
   * @returns {Promise<Terms>}
   */
  agree(termsSha256) {
    return this.#alone(async () => {
      const { terms, termsSha256: found } = await this.currentTerms();
      if (termsSha256 !== found) {
        throw new TermsChanged(
          "the terms shown were {shown}, the server now has {found}. Read them again before agreeing.",
          { shown: termsSha256, found },
        );
      }
      const old = this.terms;
      if (!terms.private && old.private) {
        throw new NotPrivate("the task {task} is no longer private. Leave it, or join anew.", {
          task: terms.task,
        });
      }
      await this.#remember((identity, nSamples) => {
        if (nSamples && !sameShape(terms, old)) {
          throw new InvalidInput(
            "{n} samples in the buffer do not fit the new terms. Leave and join again to discard them.",
            { n: nSamples },
          );
        }
        return { ...identity, terms: terms.text };
      });
      return terms;
    });
  }

  /**
   * Change the participant's limits.
   *
   * @param {Limits} limits
   */
  setLimits(limits) {
    const checked = checkLimits(limits);
    return this.#alone(() => this.#remember((identity) => ({ ...identity, limits: checked })));
  }

  /**
   * Tell the server, as well as it can be told, and forget everything here.
   *
   * @param {{erase?: boolean}} [options]
   */
  leave({ erase = true } = {}) {
    return this.#alone(async () => {
      if (this.#gone) return;
      await this.#refresh().catch(() => undefined); // who cannot read can still leave
      const { token } = this.#identity;
      const ended = endOf(this.#identity);
      try {
        // Not to a server that has ended this device itself, or was told before.
        if (!ended || ended.code === "fulfilled") await this.#transport.leave(token);
      } catch (error) {
        if (!(error instanceof CrowdmlError)) throw error;
        this.#say(phrase("left without telling the server: {why}", { why: error.phrase }));
      }
      this.#left();
      this.#identity = { ...this.#identity, token: "" };
      if (erase) await this.#store.erase();
      else await this.#store.keepLedger(this.#identity);
      this.#gone = true;
      this.#changed();
      this.close();
    });
  }

  close() {
    this.#transport.close();
    this.#store.close();
    this.#channel.close();
  }

  // Routines 2 and 3

  /** @returns {Promise<OutcomeName>} */
  async #sync() {
    await this.#refresh();
    if (this.ended !== null) return Outcome.ENDED;
    if (!(await this.#somethingToDo())) return Outcome.COLLECTED;
    if (await this.#batchIsFull()) this.#waiting.batchFilled();
    if (!this.#waiting.due) return this.waitsFor;
    try {
      return await this.#attempt();
    } catch (error) {
      return await this.#failed(error);
    }
  }

  /**
   * One round: an old letter first, then a new one.
   *
   * @returns {Promise<OutcomeName>}
   */
  async #attempt() {
    /** @type {OutcomeName} */
    let outcome = Outcome.COLLECTED;
    const old = await this.#store.pending();
    if (old) outcome = await this.#send(old);
    if ((await this.#batchIsFull()) && !(await this.#fulfilled())) {
      const letter = await this.#release();
      if (letter) outcome = await this.#send(letter);
    }
    this.#waiting.clear();
    if (await this.#fulfilled()) await this.#end("fulfilled", ALL_MADE);
    return outcome;
  }

  /** Check out w and turn the buffer into one sanitised letter. */
  async #release() {
    const agreement = this.#agreement;
    const mine = this.#identity;
    // Before the check-out, so that a spent budget costs no traffic.
    const approval = await this.#approve(await this.#store.nSamples());
    const checkedOut = await this.#transport.checkout(mine.token);
    const w = agreement.accept(checkedOut);
    this.#step("checked out");
    const start = performance.now();
    const letter = await this.#store.release((x, y, ledger, identity) => {
      if (!identity || !sameAgreement(identity, mine)) return undefined;
      const { version } = checkedOut.checkout;
      const written = agreement.write(approval, version, w, x, y, ledger, this.#chance);
      this.#step("sanitised");
      return written;
    }, approval.nSamples);
    if (letter) {
      this.#step("stored");
      this.#changed();
      // So that the time which chance and the samples took does not show.
      const rest = SLOT - ((performance.now() - start) % SLOT);
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
    return letter;
  }

  /**
   * The next check-in, if terms and limits allow one of this many samples.
   *
   * @param {number} nSamples
   */
  async #approve(nSamples) {
    return this.#agreement.approve(await this.#store.ledger(), nSamples);
  }

  /** Whether all check-ins that were agreed to are made. */
  async #fulfilled() {
    if (this.terms.collection.checkins === null) return false;
    return this.#agreement.fulfilled(await this.#store.ledger());
  }

  /**
   * @param {Letter} letter
   * @returns {Promise<OutcomeName>}
   */
  async #send(letter) {
    try {
      const { status } = await this.#transport.checkin(this.#identity.token, letter.body);
      this.#step("sent");
      await this.#store.answered(letter, status);
    } catch (error) {
      if (error instanceof Rejected && !KEEP_AFTER.includes(error.kind)) {
        await this.#store.answered(letter, `refused: ${error.kind}`);
        this.#changed();
      }
      throw error;
    }
    this.#step("acknowledged");
    this.#changed();
    return Outcome.CHECKED_IN;
  }

  /**
   * @param {unknown} error
   * @returns {Promise<OutcomeName>}
   */
  async #failed(error) {
    if (error instanceof Rejected) return this.#refused(error);
    if (error instanceof LimitReached) {
      this.#say(error.phrase);
      return Outcome.LIMIT;
    }
    if (error instanceof TermsChanged) {
      this.#say(error.phrase);
      return this.#awaitConsent();
    }
    if (!(error instanceof Unreachable)) throw error;
    this.#say(phrase("{why} Samples are kept; will try again.", { why: error.phrase }));
    return this.#waiting.hold(Outcome.WAITING, patience(error.retryAfter));
  }

  /**
   * The server said no: end, ask, wait, or go on with the next minibatch.
   *
   * `tests/vectors/behaviour.json` says what every device does after each kind.
   *
   * @param {Rejected} error
   * @returns {Promise<OutcomeName>}
   */
  async #refused(error) {
    this.#say(phrase("the server refused: {why}", { why: error.phrase }));
    const finished = error.kind === "task-finished";
    if (GIVE_UP_ON.includes(error.kind) && !finished) {
      await this.#end(error.kind, error.phrase);
      return Outcome.ENDED;
    }
    const allMade = (await this.#fulfilled()) && !(await this.pending());
    if (error.kind === "too-many-checkins" || allMade) {
      await this.#end("fulfilled", ALL_MADE);
      return Outcome.ENDED;
    }
    if (finished) {
      // Its owner may reopen it: when the page is opened again, it asks again.
      this.#over = { code: error.kind, phrase: error.phrase };
      return Outcome.ENDED;
    }
    if (error.kind === "terms-changed") return this.#awaitConsent();
    const paused = error.kind === "task-paused";
    const atLeast = patience(error.extra["retry_after"]);
    return this.#waiting.hold(paused ? Outcome.PAUSED : Outcome.WAITING, atLeast);
  }

  /** Try nothing more by itself: the participant agrees, or opens the page again. */
  #awaitConsent() {
    return this.#waiting.hold(Outcome.TERMS, Infinity);
  }

  // State

  /**
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  #alone(action) {
    return alone(this.#store.name, action);
  }

  /**
   * Whether the sample is now in the buffer. Not if that is full, or if the device has ended.
   *
   * @param {ArrayLike<number>} x
   * @param {number} y
   * @param {string | undefined} termsSha256
   * @returns {Promise<boolean>}
   */
  async #keep(x, y, termsSha256) {
    await this.#refresh();
    if (termsSha256 !== undefined && termsSha256 !== this.termsSha256) {
      throw new TermsChanged("this sample was taken under other terms. It was not kept.");
    }
    const { terms, norm } = this.#agreement;
    const features = boundFeatures(x, terms.features.count, norm);
    const target = checkTarget(y, terms.nClasses);
    if (this.ended !== null) return false;
    let current = true;
    const kept = await this.#store.add(features, target, (identity, nSamples) => {
      current = identity !== undefined && sameAgreement(identity, this.#identity);
      return current && nSamples < terms.collection.buffer;
    });
    // If another tab has just agreed to other terms, look again, by the rules of now.
    return current ? kept : this.#keep(x, y, termsSha256);
  }

  /** What another tab may have changed. Who has left stays away. */
  async #refresh() {
    if (endOf(this.#identity)?.code === "left") return;
    const identity = await this.#store.identity();
    if (!identity) this.#left();
    else if (!sameAgreement(identity, this.#identity)) await this.#adopt(identity);
  }

  /** @param {(identity: Identity, nSamples: number) => Identity} change */
  async #remember(change) {
    const changed = await this.#store.update((known, nSamples) => {
      if (!known) throw new InvalidInput(LEFT.template);
      return change(known, nSamples);
    });
    await this.#adopt(changed);
    this.#changed();
  }

  /**
   * Go by another agreement, made here or in another tab: what stood in the way may not any more.
   *
   * @param {Identity} identity
   */
  async #adopt(identity) {
    this.#agreement = await Agreement.of(identity);
    this.#identity = identity;
    this.#waiting.clear();
  }

  /**
   * @param {string} code
   * @param {Phrase} why
   */
  async #end(code, why) {
    await this.#remember((identity) => ({ ...identity, ended: { code, phrase: why } }));
  }

  #left() {
    this.#identity = { ...this.#identity, ended: { code: "left", phrase: LEFT } };
  }

  async #batchIsFull() {
    return (await this.#store.nSamples()) >= this.terms.collection.batch;
  }

  async #somethingToDo() {
    if (this.ended !== null) return false;
    return (await this.pending()) || (await this.#batchIsFull()) || (await this.#fulfilled());
  }

  // Voice

  /**
   * Tell the participant once, not at every sample.
   *
   * @param {Phrase} sentence
   */
  #say(sentence) {
    if (write(sentence) === write(this.#said)) return;
    this.#said = sentence;
    this.dispatchEvent(new CustomEvent("say", { detail: sentence }));
  }

  /** @param {string} name */
  #step(name) {
    this.dispatchEvent(new CustomEvent("step", { detail: name }));
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
    this.#channel.postMessage("change");
  }

  async #news() {
    await this.#refresh();
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {{url: string, task: string}} where
 * @param {Options} options
 * @returns {Transport}
 */
function transportOf({ url, task }, options) {
  return options.transport ?? new HttpTransport(url, task, options);
}

/**
 * Why the device has ended, by what is stored: an earlier version stored a text.
 *
 * @param {Identity} identity
 * @returns {End | null}
 */
function endOf({ ended }) {
  return typeof ended === "string" ? { code: ended, phrase: phrase(ended) } : ended;
}

/**
 * @param {Identity} a
 * @param {Identity} b
 */
function sameAgreement(a, b) {
  const limits = a.limits.perSample === b.limits.perSample && a.limits.perDevice === b.limits.perDevice;
  return limits && a.terms === b.terms && !a.ended === !b.ended && a.token === b.token;
}

/**
 * Whether samples taken under one of the terms make sense under the other.
 *
 * @param {Terms} a
 * @param {Terms} b
 */
function sameShape(a, b) {
  const shape = (/** @type {Terms} */ { features, target }) => [features.count, features.sensor, target.labels];
  return JSON.stringify(shape(a)) === JSON.stringify(shape(b));
}

/**
 * The seconds that the server asks to wait, within reason.
 *
 * @param {unknown} retryAfter
 */
function patience(retryAfter) {
  return typeof retryAfter === "number" && retryAfter >= 0 ? Math.min(retryAfter, LONGEST_WAIT) : 0;
}
