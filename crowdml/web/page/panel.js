/** Show the controls: labels or a form, pause and resume, the state line. */

import { byId, element, input, make, put } from "./elements.js";
import { LabelButtons } from "./label_buttons.js";
import { say } from "./say.js";
import { keepOn } from "./screen.js";
import { nextSampleText, statusOf, untilWindowText } from "./status.js";

/** @import { Participation } from "./participation.js" */

export class Panel {
  #participation;
  #labelButtons;
  /** @type {HTMLInputElement[]} */
  #fields = [];
  #nSamples = 0;

  /** @param {Participation} participation */
  constructor(participation) {
    this.#participation = participation;
    this.#labelButtons = new LabelButtons(participation.device, (y) => this.#setLabel(y));
    this.#askLabel();
    if (participation.typedIn) this.#makeForm();
    byId("manual").hidden = !participation.typedIn;
    byId("run").addEventListener("click", async () => {
      await participation.run(!participation.running);
      this.render();
      if (byId("run").hidden) this.#focusLabel();
    });
  }

  render() {
    const { label, labelled, atLimit, running, typedIn } = this.#participation;
    this.#labelButtons.render(label, atLimit);
    input("target").disabled = atLimit;
    put("run", running ? say("Pause") : say("Resume"));
    byId("run").className = running ? "second" : "";
    // Before the first label nothing is read, so there is nothing to pause.
    byId("run").hidden = typedIn || atLimit || (running && !labelled);
    byId("limit-reached").hidden = !atLimit;
    byId("answer").hidden = atLimit;
    byId("now").hidden = atLimit;
    byId("signal").hidden = typedIn || atLimit || !labelled;
    this.#keepScreenOn();
    this.tick();
  }

  forget() {
    this.#labelButtons.forget();
  }

  /** Update once a second what a screen reader need not read out. */
  tick() {
    const participation = this.#participation;
    put("wait", nextSampleText(participation, this.#nSamples));
    put("status", statusOf(participation));
    const { label, reader, waiting } = participation;
    const collects = reader.sensing && !reader.silent && label !== null;
    byId("status").dataset["tone"] = waiting ? "medium" : collects ? "good" : "quiet";
    put("model-guess", this.#predictionText());
  }

  /** @param {number} nSamples */
  count(nSamples) {
    const { batch } = this.#participation.device.terms.collection;
    const values = { n: nSamples, batch };
    put("samples", nSamples > batch ? say("{n} ({batch} needed)", values) : say("{n} of {batch}", values));
    this.#nSamples = nSamples;
    const bar = element("filled", HTMLProgressElement);
    bar.max = batch;
    bar.value = nSamples;
    this.tick();
  }

  #predictionText() {
    const { crowd, reader, typedIn, labelled, collecting } = this.#participation;
    const { x, sensing } = reader;
    if (!typedIn && labelled && !collecting) return "–";
    if (!typedIn && !labelled) return say("after your answer");
    if (!typedIn) return x && sensing ? crowd.predictionText(x) : untilWindowText(reader);
    const values = this.#values();
    return values ? crowd.predictionText(this.#participation.features(values)) : say("fill in the numbers");
  }

  async #keepScreenOn() {
    const { reader, collecting } = this.#participation;
    const kept = await keepOn(reader.sensing && collecting);
    const dark = say("This browser may turn the screen off; collection then pauses.");
    put("screen", kept ? "" : dark);
  }

  /** @param {number | null} y */
  #setLabel(y) {
    this.#participation.setLabel(y);
    this.render();
  }

  #askLabel() {
    const { labels, description, unit } = this.#participation.device.terms.target;
    put("question", labels.length ? say("What is true now?") : say("What is the number now?"));
    put("question-hint", description);
    byId("target-field").hidden = labels.length > 0;
    put("unit", unit);
    input("target").addEventListener("input", ({ target }) => {
      const y = /** @type {HTMLInputElement} */ (target).valueAsNumber;
      this.#setLabel(Number.isFinite(y) ? y : null);
    });
  }

  /** Make the form; the focus moves from the readings to the label to the button. */
  #makeForm() {
    const participation = this.#participation;
    const form = element("manual", HTMLFormElement);
    byId("fields").after(byId("answer"));
    this.#fields = participation.sensor.fields.map(() => {
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
    byId("fields").replaceChildren(
      ...this.#fields.map((field, j) => make("label", participation.sensor.fields[j] ?? "", field)),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = this.#values();
      if (!values) return;
      if (participation.label === null) {
        put("manual-note", say("Choose the answer, then add the sample."));
        this.#focusLabel();
        return;
      }
      const why = await participation.addTyped(values, participation.label);
      const kept = say("Kept on this device.");
      put("manual-note", why ? say("Not kept: {why}", { why }) : kept);
      if (!why) {
        participation.label = null;
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
    const buttons = this.#participation.device.terms.target.labels.length > 0;
    if (buttons) this.#labelButtons.focus();
    else input("target").focus();
  }

  #values() {
    const values = this.#fields.map((field) => field.valueAsNumber);
    return values.every(Number.isFinite) ? values : undefined;
  }
}
