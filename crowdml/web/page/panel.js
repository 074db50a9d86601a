/** Show the controls: labels or a form, pause and resume, the state line. */

import { Choice } from "./choice.js";
import { any, element, input, make, put } from "./elements.js";
import { say } from "./say.js";
import { keepOn } from "./screen.js";
import { outlook, statusOf, untilWindow } from "./status.js";

/** @import { Participation } from "./participation.js" */

export class Panel {
  #part;
  #choice;
  /** @type {HTMLInputElement[]} */
  #fields = [];
  #nSamples = 0;

  /** @param {Participation} part */
  constructor(part) {
    this.#part = part;
    this.#choice = new Choice(part.device, (y) => this.#setLabel(y));
    this.#askLabel();
    if (part.typedIn) this.#makeForm();
    any("manual").hidden = !part.typedIn;
    any("run").addEventListener("click", async () => {
      await part.run(!part.running);
      this.render();
      if (any("run").hidden) this.#focusLabel();
    });
  }

  render() {
    const part = this.#part;
    this.#choice.render(part.label, part.limited);
    input("target").disabled = part.limited;
    put("run", part.running ? say("Pause") : say("Resume"));
    any("run").className = part.running ? "second" : "";
    // Before the first label nothing is read, so there is nothing to pause.
    any("run").hidden = part.typedIn || part.limited || (part.running && !part.labelled);
    any("limit-reached").hidden = !part.limited;
    any("answer").hidden = part.limited;
    any("now").hidden = part.limited;
    any("signal").hidden = part.typedIn || part.limited || !part.labelled;
    this.#light();
    this.tick();
  }

  forget() {
    this.#choice.forget();
  }

  /** Update once a second what a screen reader need not read out. */
  tick() {
    const part = this.#part;
    put("wait", outlook(part, this.#nSamples));
    put("status", statusOf(part));
    const collects = part.reader.sensing && !part.reader.silent && part.label !== null;
    any("status").dataset["tone"] = part.waiting ? "medium" : collects ? "good" : "quiet";
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
    const { crowd, reader, typedIn, labelled, open } = this.#part;
    const { x, sensing } = reader;
    if (!typedIn && labelled && !open) return "–";
    if (!typedIn && !labelled) return say("after your answer");
    if (!typedIn) return x && sensing ? crowd.thinks(x) : untilWindow(reader);
    const values = this.#values();
    return values ? crowd.thinks(this.#part.features(values)) : say("fill in the numbers");
  }

  async #light() {
    const { reader, open } = this.#part;
    const kept = await keepOn(reader.sensing && open);
    const dark = say("This browser may turn the screen off; collection then pauses.");
    put("screen", kept ? "" : dark);
  }

  /** @param {number | null} y */
  #setLabel(y) {
    this.#part.setLabel(y);
    this.render();
  }

  #askLabel() {
    const { labels, description, unit } = this.#part.device.terms.target;
    put("question", labels.length ? say("What is true now?") : say("What is the number now?"));
    put("question-hint", description);
    any("target-field").hidden = labels.length > 0;
    put("unit", unit);
    input("target").addEventListener("input", ({ target }) => {
      const y = /** @type {HTMLInputElement} */ (target).valueAsNumber;
      this.#setLabel(Number.isFinite(y) ? y : null);
    });
  }

  /** Make the form; the focus moves from the readings to the label to the button. */
  #makeForm() {
    const part = this.#part;
    const form = element("manual", HTMLFormElement);
    any("fields").after(any("answer"));
    this.#fields = part.sensor.fields.map(() => {
      const field = make("input");
      Object.assign(field, { type: "number", step: "any", required: true, inputMode: "decimal" });
      field.enterKeyHint = "next";
      field.addEventListener("input", () => this.tick());
      field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.#focusAfter(field);
      });
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
        put("manual-note", say("Choose the answer, then add the sample."));
        this.#focusLabel();
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
      if (!why) this.#fields[0]?.focus();
    });
  }

  /** @param {HTMLInputElement} field */
  #focusAfter(field) {
    const next = this.#fields[this.#fields.indexOf(field) + 1];
    if (next) next.focus();
    else this.#focusLabel();
  }

  #focusLabel() {
    const buttons = this.#part.device.terms.target.labels.length > 0;
    if (buttons) this.#choice.focus();
    else input("target").focus();
  }

  #values() {
    const values = this.#fields.map((field) => field.valueAsNumber);
    return values.every(Number.isFinite) ? values : undefined;
  }
}
