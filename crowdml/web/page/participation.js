/** Take part: pass samples from the sensor to the device, and note what prevents it. */

import {
  FINAL_REJECTIONS,
  InvalidSample,
  Outcome,
  Rejected,
  TermsChanged,
  Unreachable,
  checkTarget,
  featuresOf,
  phrase,
  scaledFeatures,
} from "../index.js";
import { isTypedIn } from "../sensors/index.js";
import { CrowdModel } from "./crowd_model.js";
import { phraseOf } from "./say.js";
import { SensorReader } from "./sensor_reader.js";

/** @import { Device } from "../index.js" */
/** @import { End, OutcomeName, Phrase, Sensor } from "../types.js" */

/** @type {readonly OutcomeName[]} */
const RETRY_OUTCOMES = [Outcome.WAITING, Outcome.PAUSED, Outcome.FULL];
/** Hold the state of taking part; dispatch `update` when the page may have to change. */
export class Participation extends EventTarget {
  /** @type {number | null} What is true now; nothing is collected while it is null. */
  label = null;
  running = false;
  atLimit = false;
  /** Whether the participant has set a label in this visit; the sensor is not read before that. */
  labelled = false;
  /** @type {End | null} */
  end = null;
  termsChanged = false;
  taskPaused = false;
  /** @type {Phrase | null} */
  trouble = null;
  /** The seconds that the page was in the background. */
  secondsAway = 0;
  /** @type {OutcomeName} */
  outcome = Outcome.COLLECTED;
  #turn = Promise.resolve();
  #hidden = 0;
  #termsSha256;

  /** @param {Device} device */
  constructor(device) {
    super();
    this.device = device;
    this.sensor = /** @type {Sensor} */ (device.terms.features.sensor);
    this.typedIn = isTypedIn(this.sensor);
    this.crowd = new CrowdModel(device);
    this.#termsSha256 = device.termsSha256;
    this.reader = new SensorReader(this, (x, y) => this.#keep(x, y));
    document.addEventListener("visibilitychange", () => this.#onVisibilityChange());
    addEventListener("online", () => this.#onOnline());
    addEventListener("offline", () => this.#update());
  }

  get waiting() {
    return RETRY_OUTCOMES.includes(this.outcome);
  }

  get collecting() {
    return this.running && !document.hidden && !this.atLimit && !this.termsChanged && !this.end;
  }

  /** @param {boolean} running */
  run(running) {
    this.running = running;
    this.trouble = null;
    this.secondsAway = 0;
    return this.updateSensor();
  }

  /**
   * Set what is true now, and start the sensor: a label means taking part.
   *
   * @param {number | null} label
   */
  setLabel(label) {
    this.label = label;
    this.secondsAway = 0;
    if (label === null) return;
    this.labelled = true;
    if (this.running) this.updateSensor();
    else this.run(true);
  }

  /** Start or stop the sensor as needed, one change at a time. */
  updateSensor() {
    this.#turn = this.#turn.then(() => this.#startOrStopSensor());
    return this.#turn;
  }

  /**
   * @param {number[]} values
   * @param {number} y
   * @returns {Promise<Phrase | null>} Why they were not kept, or nothing.
   */
  async addTyped(values, y) {
    if (!this.collecting) return phrase("nothing is collected now.");
    const { terms } = this.device;
    try {
      scaledFeatures(terms.features, this.features(values), terms.mechanism().norm);
      checkTarget(y, terms.nClasses);
    } catch (error) {
      if (error instanceof InvalidSample) return error.phrase;
      throw error;
    }
    await this.#keep(this.features(values), y);
    if (this.outcome === Outcome.FULL) return phrase("the buffer is full.");
    return this.end?.phrase ?? this.trouble;
  }

  /** @param {number[]} values */
  features(values) {
    return featuresOf(this.sensor, this.device.terms.features.count, values);
  }

  /** @param {boolean} [now] Whether to try without waiting. */
  async sync(now = false) {
    if (this.termsChanged || this.end) return;
    const { device } = this;
    await this.#try(async () => this.#setOutcome(await (now ? device.retry() : device.sync())));
  }

  async tick() {
    if (this.termsChanged || this.end) return;
    if (this.waiting && this.device.wait <= 0) await this.sync();
    if (this.collecting) {
      await this.#try(async () => {
        if (await this.crowd.refresh()) this.taskPaused = false;
      });
    }
  }

  async updateAtLimit() {
    this.atLimit = await this.device.isAtLimit();
    this.updateSensor();
  }

  /** Go on with a task that had ended and that its owner has reopened. */
  async resumeReopened() {
    if (this.end?.code !== "task-finished" || this.device.ended) return;
    this.end = null;
    this.#update();
    await this.sync();
  }

  close() {
    this.end ??= { code: "left", phrase: phrase("nothing is collected now.") };
    return this.updateSensor();
  }

  async #startOrStopSensor() {
    const wanted = this.collecting && this.labelled;
    if (this.typedIn || wanted === this.reader.sensing) return;
    if (!wanted) {
      this.reader.stop();
    } else {
      await this.#try(() => this.reader.start());
    }
    this.#update();
  }

  /** @type {(x: Float64Array, y: number) => Promise<void>} */
  #keep(x, y) {
    const label = this.device.terms.target.labels[y] ?? y;
    return this.#try(async () => this.#setOutcome(await this.device.add(x, label, this.#termsSha256)));
  }

  /** @param {OutcomeName} outcome */
  #setOutcome(outcome) {
    this.outcome = outcome;
    if (outcome === Outcome.PAUSED) this.taskPaused = true;
    if (outcome === Outcome.CHECKED_IN) this.taskPaused = false;
    if (outcome === Outcome.TERMS) this.termsChanged = true;
    this.end = this.device.ended ?? this.end;
    this.#update();
  }

  /**
   * Run an action; what the server or the sensor objects becomes part of the state.
   *
   * @param {() => Promise<unknown>} action
   */
  async #try(action) {
    try {
      await action();
    } catch (error) {
      if (error instanceof TermsChanged) this.termsChanged = true;
      else if (error instanceof Rejected) this.#handleRejection(error);
      else if (!(error instanceof Unreachable)) this.#stopOn(phraseOf(error));
      this.#update();
    }
  }

  /** @param {Rejected} error */
  #handleRejection({ kind, phrase }) {
    if (kind === "task-paused") this.taskPaused = true;
    if (kind === "task-finished" || FINAL_REJECTIONS.includes(kind)) this.end = { code: kind, phrase };
  }

  /** @param {Phrase} why */
  #stopOn(why) {
    if (this.end) return;
    this.trouble = why;
    this.running = false;
    this.updateSensor();
  }

  #onVisibilityChange() {
    if (document.hidden) this.#hidden = performance.now();
    else if (this.running && this.labelled) {
      this.secondsAway = Math.ceil((performance.now() - this.#hidden) / 1000);
    }
    this.updateSensor();
    this.#update();
    if (!document.hidden) this.sync();
  }

  #onOnline() {
    this.#update();
    // Retry at once what failed without a network; an owner's pause may last longer.
    this.sync(this.device.waitsFor !== Outcome.PAUSED);
  }

  #update() {
    this.dispatchEvent(new Event("update"));
  }
}
