/** Show the end of a task: what was learnt, the participant's part, the model to try and to keep. */

import { Unreachable, describeContribution, errorNow, publicResults } from "../index.js";
import { byId, element, put, showError } from "./elements.js";
import { say } from "./say.js";
import { predict } from "./try_model.js";

/** @import { Device } from "../index.js" */
/** @import { Kept, PublicResults, SentCheckin } from "../types.js" */

/** Milliseconds until the server is asked again, while there are no results. */
const RETRY_MS = 60_000;

export class Ending {
  #device;
  #form = element("try-form", HTMLFormElement);
  /** @type {Kept} */
  #kept = {};
  #asked = false;
  #unreachable = false;
  #onReopened;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;

  /**
   * @param {Device} device
   * @param {() => void} onReopened Called if the task has not ended, or goes on again.
   */
  constructor(device, onReopened) {
    this.#device = device;
    this.#onReopened = onReopened;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      predict(this.#form, byId("prediction"), () => this.#model());
    });
    byId("keep").addEventListener("click", () => this.#keep().catch(showError));
    addEventListener("online", () => {
      if (this.#asked) this.#show().catch(showError);
    });
  }

  /** @param {readonly SentCheckin[]} history */
  async render(history) {
    this.#kept = await this.#device.readKept();
    this.#write(history);
    if (this.#asked) return;
    this.#asked = true;
    await this.#show();
  }

  /** Ask the server and write its results; ask again in a minute while there are none. */
  async #show() {
    clearTimeout(this.#retry);
    await this.#ask();
    this.#write(await this.#device.history());
    if (this.#kept.results) return;
    this.#retry = setTimeout(() => this.#show().catch(showError), RETRY_MS);
  }

  /** Ask the server for the results; without a network, the page keeps the earlier ones. */
  async #ask() {
    try {
      const { url, task } = this.#device.identity;
      const results = await publicResults(url, task);
      this.#kept = await this.#device.updateKept({ results });
      this.#unreachable = false;
      if (!results.final) this.#onReopened();
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      this.#unreachable = true;
    }
  }

  /** @param {readonly SentCheckin[]} history */
  #write(history) {
    const { results, model } = this.#kept;
    const mine = history.flatMap(({ version }) => version ?? []).sort((a, b) => a - b);
    const became = results ? describeContribution(mine, results) : [];
    if (results?.version && became.length < 2) became.push(errorNow(results));
    put("learnt", results ? learntText(results) : this.#waiting());
    put("became", became.map((each) => say(each)).join(" "));
    const nothing = results?.version === 0;
    byId("try-card").hidden = byId("keep-card").hidden = nothing;
    byId("keep").hidden = model !== undefined && results?.final !== false;
    put("keep", model === undefined ? say("Keep it on this device") : say("Keep the newest one"));
    put("kept", model === undefined ? "" : say("It is on this device now, and you can try it without a network."));
  }

  /** Return what is shown while there are no results. */
  #waiting() {
    if (!this.#unreachable) return say("Asking the server …");
    return navigator.onLine
      ? say("The server cannot be reached. Asks again in a minute.")
      : say("Asks the server as soon as there is a network.");
  }

  async #keep() {
    this.#kept = await this.#device.updateKept({ model: await this.#fetchModel() });
    this.#write(await this.#device.history());
    byId("kept").focus();
  }

  /** Return the newest model if there is a network, otherwise the model that was kept. */
  async #model() {
    try {
      return await this.#fetchModel();
    } catch (error) {
      if (this.#kept.model === undefined) throw error;
      return this.#kept.model;
    }
  }

  async #fetchModel() {
    const reply = await fetch(this.#form.dataset["model"] ?? "").catch(() => undefined);
    if (!reply?.ok) throw new Error(say("The model could not be loaded."));
    return reply.text();
  }
}

/** @param {PublicResults} results */
function learntText({ version: n }) {
  if (!n) return say("It has learnt nothing yet.");
  return n === 1
    ? say("The crowd’s model has learnt from 1 check-in.")
    : say("The crowd’s model has learnt from {n} check-ins.", { n });
}
