/** The controls: labels or a form, pause and resume, the state line. */

import { any, element, input, make, put } from "./elements.js";
import { say } from "./say.js";
import { keepOn } from "./screen.js";
import { outlook, statusOf } from "./status.js";

/** @import { Participation } from "./participation.js" */

export class Panel {
  #part;
  /** @type {HTMLButtonElement[]} */
  #labels = [];
  /** @type {HTMLInputElement[]} */
  #fields = [];
  #nSamples = 0;

  /** @param {Participation} part */
  constructor(part) {
    this.#part = part;
    this.#makeAnswer();
    if (part.typedIn) this.#makeForm();
    any("signal").hidden = part.typedIn;
    any("manual").hidden = !part.typedIn;
    any("run").addEventListener("click", async () => {
      await part.run(!part.running);
      this.render();
    });
  }

  render() {
    const part = this.#part;
    for (const [k, button] of this.#labels.entries()) {
      button.setAttribute("aria-pressed", String(part.label === k));
      button.disabled = part.limited;
    }
    input("target").disabled = part.limited;
    put("run", part.running ? say("Pause") : say("Resume"));
    any("run").className = part.running ? "second" : "";
    any("run").hidden = part.typedIn || part.limited;
    const tone = part.waiting ? "medium" : part.reader.sensing && part.label !== null ? "good" : "quiet";
    any("status").dataset["tone"] = tone;
    any("limit-reached").hidden = !part.limited;
    this.#light();
    this.tick();
  }

  /** Once a second: what a screen reader need not read out. */
  tick() {
    const part = this.#part;
    put("wait", outlook(part, this.#nSamples));
    put("status", statusOf(part));
    put("thinks", this.#thinks());
  }

  /** @param {number} nSamples */
  count(nSamples) {
    const { batch } = this.#part.device.terms.collection;
    const values = { n: nSamples, batch };
    put("samples", nSamples > batch ? say("{n} ({batch} needed)", values) : say("{n} of {batch}", values));
    this.#nSamples = nSamples;
    const bar = element("filled", HTMLProgressElement);
    bar.max = batch;
    bar.value = nSamples;
    this.tick();
  }

  #thinks() {
    const { crowd, reader, typedIn, answered } = this.#part;
    const { x, sensing } = reader;
    if (!typedIn && !answered) return say("waits for your answer");
    if (!typedIn) return x && sensing ? crowd.thinks(x) : say("no full window yet");
    const values = this.#values();
    return values ? crowd.thinks(this.#part.features(values)) : say("fill in the numbers");
  }

  async #light() {
    const { reader, open } = this.#part;
    const kept = await keepOn(reader.sensing && open);
    const dark = say("This browser may turn the screen off; collection then pauses.");
    put("screen", kept ? "" : dark);
  }

  #makeAnswer() {
    const part = this.#part;
    const { labels, description, unit } = part.device.terms.target;
    const answer = (/** @type {number | null} */ y) => {
      part.answer(y);
      this.render();
    };
    put("question", labels.length ? say("What is true now?") : say("What is the number now?"));
    put("question-hint", description);
    any("target-field").hidden = labels.length > 0;
    put("unit", unit);
    this.#labels = labels.map((label, k) => {
      const button = make("button", label);
      button.type = "button";
      button.addEventListener("click", () => answer(k));
      return button;
    });
    any("labels").replaceChildren(...this.#labels);
    input("target").addEventListener("input", ({ target }) => {
      const y = /** @type {HTMLInputElement} */ (target).valueAsNumber;
      answer(Number.isFinite(y) ? y : null);
    });
  }

  #makeForm() {
    const part = this.#part;
    const form = element("manual", HTMLFormElement);
    this.#fields = part.sensor.fields.map(() => {
      const field = make("input");
      Object.assign(field, { type: "number", step: "any", required: true, inputMode: "decimal" });
      field.addEventListener("input", () => this.tick());
      return field;
    });
    any("fields").replaceChildren(
      ...this.#fields.map((field, j) => make("label", part.sensor.fields[j] ?? "", field)),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = this.#values();
      if (!values) return;
      if (part.label === null) {
        put("manual-note", say("Choose the answer above first."));
        return;
      }
      const why = await part.enter(values, part.label);
      const kept = say("Kept on this device.");
      put("manual-note", why ? say("Not kept: {why}", { why }) : kept);
      if (!why) {
        part.label = null;
        form.reset();
        input("target").value = "";
      }
      this.render();
    });
  }

  #values() {
    const values = this.#fields.map((field) => field.valueAsNumber);
    return values.every(Number.isFinite) ? values : undefined;
  }
}
