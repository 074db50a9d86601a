/** Taking part: from the sensor and the label to the device, and what hinders it. */

import {
  GIVE_UP_ON,
  InvalidSample,
  Outcome,
  Rejected,
  Sensing,
  TermsChanged,
  Unreachable,
  boundFeatures,
  checkTarget,
  featuresOf,
  phrase,
} from "../index.js";
import { SensorTrouble, sourceOf } from "../sensors/index.js";
import { Crowd } from "./crowd.js";
import { phraseOf } from "./say.js";

/** @import { Device } from "../index.js" */
/** @import { OutcomeName } from "../outcome.js" */
/** @import { Sensor } from "../sensor.js" */
/** @import { End, Phrase } from "../types.js" */

/** @type {readonly OutcomeName[]} */
const RETRY = [Outcome.WAITING, Outcome.PAUSED, Outcome.FULL];
const QUIET_SECONDS = 3;
const LIVE_SECONDS = 0.2;
const KEPT_SECONDS = 2;
/** Where a browser keeps when the last sample was taken, and with which answer. */
const LAST = "crowdml last sample ";

/** Dispatches `update` when what the participant sees may have changed. */
export class Participation extends EventTarget {
  /** @type {number | null} What is true now; nothing is collected while it is null. */
  label = null;
  running = false;
  limited = false;
  /** Whether there was an answer in this visit: the sensor is not read before. */
  answered = false;
  /** @type {End | null} */
  over = null;
  termsChanged = false;
  taskPaused = false;
  /** @type {Phrase | null} */
  trouble = null;
  /** Seconds in the background. */
  away = 0;
  /** @type {OutcomeName} */
  outcome = Outcome.COLLECTED;
  /** @type {{time: number, reading: number}[]} The last seconds. */
  readings = [];
  /** @type {Float64Array | undefined} The features of the newest window. */
  x;
  /** @type {(() => void) | undefined} */
  #stop;
  #turn = Promise.resolve();
  #heard = 0;
  #hidden = 0;
  #sensing;
  #live;
  #termsSha256;
  #recalled = false;

  /** @param {Device} device */
  constructor(device) {
    super();
    this.device = device;
    this.sensor = /** @type {Sensor} */ (device.terms.features.sensor);
    this.manual = this.sensor.kind === "manual";
    this.crowd = new Crowd(device);
    this.#termsSha256 = device.termsSha256;
    const { count } = device.terms.features;
    // One for the whole visit: what the terms say about `every` and `trigger` outlasts a pause.
    this.#sensing = new Sensing(this.sensor, count);
    this.#live = new Sensing({ ...this.sensor, every: LIVE_SECONDS, trigger: "always" }, count);
    document.addEventListener("visibilitychange", () => this.#look());
    addEventListener("online", () => this.#online());
    addEventListener("offline", () => this.#update());
  }

  get sensing() {
    return this.#stop !== undefined;
  }

  get silent() {
    const quiet = Math.max(QUIET_SECONDS, 2 / this.sensor.rate);
    return this.sensing && performance.now() - this.#heard > quiet * 1000;
  }

  /** Seconds until the next sample, or undefined if none is on its way. */
  get nextSample() {
    const { wait } = this.#sensing;
    const due = this.sensing && !this.silent && this.label !== null && Number.isFinite(wait);
    return due ? Math.max(0, wait) : undefined;
  }

  get waiting() {
    return RETRY.includes(this.outcome);
  }

  get open() {
    return this.running && !document.hidden && !this.limited && !this.termsChanged && !this.over;
  }

  /** @param {boolean} running */
  run(running) {
    this.running = running;
    this.trouble = null;
    this.away = 0;
    return this.settle();
  }

  /**
   * Say what is true now, which starts the sensor: whoever answers wants to take part.
   *
   * @param {number | null} label
   */
  answer(label) {
    this.label = label;
    this.away = 0;
    if (label === null) return;
    this.answered = true;
    if (this.running) this.settle();
    else this.run(true);
  }

  /** Make the sensor follow what is wanted, one change at a time. */
  settle() {
    this.#turn = this.#turn.then(() => this.#follow());
    return this.#turn;
  }

  /**
   * Keep numbers that were typed in.
   *
   * @param {number[]} values
   * @param {number} y
   * @returns {Promise<Phrase | null>} Why they were not kept, or nothing.
   */
  async enter(values, y) {
    if (!this.open) return phrase("nothing is collected now.");
    const { terms } = this.device;
    try {
      boundFeatures(this.features(values), values.length, terms.mechanism().norm);
      checkTarget(y, terms.nClasses);
    } catch (error) {
      if (error instanceof InvalidSample) return error.phrase;
      throw error;
    }
    await this.#keep(this.features(values), y);
    if (this.outcome === Outcome.FULL) return phrase("the buffer is full.");
    return this.over?.phrase ?? this.trouble;
  }

  /** @param {number[]} values */
  features(values) {
    return featuresOf(this.sensor, this.device.terms.features.count, values);
  }

  /** @param {boolean} [now] Whether it need not wait. */
  async sync(now = false) {
    if (this.termsChanged || this.over) return;
    const { device } = this;
    await this.#try(async () => this.#became(await (now ? device.retry() : device.sync())));
  }

  async tick() {
    if (this.termsChanged || this.over) return;
    if (this.waiting && this.device.wait <= 0) await this.sync();
    if (this.open) {
      await this.#try(async () => {
        if (await this.crowd.refresh()) this.taskPaused = false;
      });
    }
  }

  async weigh() {
    this.limited = await this.device.limited();
    this.settle();
  }

  close() {
    this.over ??= { code: "left", phrase: phrase("nothing is collected now.") };
    return this.settle();
  }

  async #follow() {
    const wanted = this.open && this.answered;
    if (this.manual || wanted === this.sensing) return;
    if (!wanted) {
      this.#stop?.();
      this.#stop = undefined;
      this.#sensing.interrupt();
      this.#live.interrupt();
    } else {
      await this.#try(() => this.#start());
    }
    this.#update();
  }

  async #start() {
    const source = sourceOf(this.sensor.kind);
    const release = await claim(`crowdml sensor ${this.device.identity.device}`);
    this.#heard = performance.now();
    try {
      const stop = await source.start((...heard) => this.#read(...heard), this.sensor);
      this.#stop = () => {
        stop();
        release();
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * @param {number} time
   * @param {number} reading
   */
  #read(time, reading) {
    if (!this.open) return;
    this.#heard = performance.now();
    const { rate, window } = this.sensor;
    this.readings.push({ time, reading });
    const oldest = time - window / rate - KEPT_SECONDS;
    while (this.readings[0] && this.readings[0].time < oldest) this.readings.shift();
    for (const { x } of this.#live.push(time, reading, 0)) this.x = x;
    this.#recall(time);
    for (const { x, y } of this.#sensing.push(time, reading, this.label)) {
      localStorage.setItem(this.#last, JSON.stringify([Date.now(), y]));
      this.#keep(x, y);
    }
  }

  get #last() {
    return LAST + this.device.identity.device;
  }

  /**
   * Before the first reading: the last sample before the page was loaded counts as well.
   *
   * @param {number} now In the sensor's time.
   */
  #recall(now) {
    if (this.#recalled) return;
    this.#recalled = true;
    const [time, y] = JSON.parse(localStorage.getItem(this.#last) ?? "[]");
    if (time <= Date.now()) this.#sensing.recall(now - (Date.now() - time) / 1000, y);
  }

  /** Nothing stays in the browser. */
  forget() {
    localStorage.removeItem(this.#last);
  }

  /**
   * @param {Float64Array} x
   * @param {number} y
   */
  #keep(x, y) {
    return this.#try(async () => this.#became(await this.device.add(x, y, this.#termsSha256)));
  }

  /** @param {OutcomeName} outcome */
  #became(outcome) {
    this.outcome = outcome;
    if (outcome === Outcome.PAUSED) this.taskPaused = true;
    if (outcome === Outcome.CHECKED_IN) this.taskPaused = false;
    if (outcome === Outcome.TERMS) this.termsChanged = true;
    this.over = this.device.ended ?? this.over;
    this.#update();
  }

  /**
   * What the server or the sensor has against it becomes part of the state.
   *
   * @param {() => Promise<unknown>} action
   */
  async #try(action) {
    try {
      await action();
    } catch (error) {
      if (error instanceof TermsChanged) this.termsChanged = true;
      else if (error instanceof Rejected) this.#refused(error);
      else if (!(error instanceof Unreachable)) this.#halt(phraseOf(error));
      this.#update();
    }
  }

  /** @param {Rejected} error */
  #refused({ kind, phrase }) {
    if (kind === "task-paused") this.taskPaused = true;
    if (GIVE_UP_ON.includes(kind)) this.over = { code: kind, phrase };
  }

  /** @param {Phrase} why */
  #halt(why) {
    if (this.over) return;
    this.trouble = why;
    this.running = false;
    this.settle();
  }

  #look() {
    if (document.hidden) this.#hidden = performance.now();
    else if (this.running && this.answered) {
      this.away = Math.ceil((performance.now() - this.#hidden) / 1000);
    }
    this.settle();
    this.#update();
    if (!document.hidden) this.sync();
  }

  #online() {
    this.#update();
    // What failed for want of a network need not wait; an owner's pause may last.
    this.sync(this.device.waitsFor !== Outcome.PAUSED);
  }

  #update() {
    this.dispatchEvent(new Event("update"));
  }
}

/**
 * Two tabs must not take the same moment for two samples: the first one has the sensor.
 *
 * @param {string} name
 */
function claim(name) {
  return new Promise((resolve, reject) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock) return new Promise((release) => resolve(() => release(undefined)));
      return reject(
        new SensorTrouble("Another tab of this browser takes part. Pause there, then tap Resume."),
      );
    });
  });
}
