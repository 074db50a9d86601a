/** Show old and new terms side by side: what would change if the participant agreed. */

import { lossOf } from "../index.js";
import { secondsPerCheckin } from "./collection_time.js";
import { byId, count, durationText, element, epsilon, make, number, put, row, showError } from "./elements.js";
import { say } from "./say.js";

/** @import { Device } from "../index.js" */
/** @import { PrivacyPromise } from "../protocol/promise.js" */
/** @import { Terms } from "../protocol/terms.js" */

export class Comparison {
  #device;
  /** The hash of the terms on the screen. */
  #shown = "";
  #agree = element("agree-again", HTMLButtonElement);

  /**
   * @param {Device} device
   * @param {() => void} agreed Called when the participant has agreed.
   */
  constructor(device, agreed) {
    this.#device = device;
    this.#agree.addEventListener("click", async () => {
      try {
        const terms = await device.agree(this.#shown);
        // The screen has shown the new cost of a sample, so agreeing allows it.
        await device.setLimits({ ...device.identity.limits, perSample: terms.loss.total });
        agreed();
      } catch (error) {
        showError(error);
      }
    });
    byId("look-again").addEventListener("click", () => this.render());
  }

  async render() {
    this.#agree.disabled = true;
    byId("private-no-more").hidden = true;
    byId("look-again").hidden = true;
    try {
      const { terms, termsSha256 } = await this.#device.currentTerms();
      const old = flatten(JSON.parse(this.#device.terms.text));
      const asked = flatten(JSON.parse(terms.text));
      const names = [...new Set([...old.keys(), ...asked.keys()])];
      const rows = (/** @type {boolean} */ same) =>
        names
          .filter((name) => (old.get(name) === asked.get(name)) === same)
          .map((name) => row(name, valueText(old.get(name)), valueText(asked.get(name))));
      const { perDevice } = this.#device.identity.limits;
      const sent = (await this.#device.ledger()).events.map(lossOf);
      // Compare the same number of check-ins, unless the terms fix the number.
      const allowed = this.#device.terms.checkinsWithin(perDevice);
      const promised = (/** @type {Terms} */ each) =>
        each.promise(each.collection.checkins ?? allowed, sent);
      const after = promised(terms);
      const sentences = [
        ...privacyTexts(promised(this.#device.terms), after),
        ...changeTexts(this.#device.terms, terms),
      ];
      byId("changes").replaceChildren(...sentences.map((sentence) => make("li", sentence)));
      byId("changed").replaceChildren(...rows(false));
      byId("unchanged").replaceChildren(...rows(true));
      put("new-sha256", termsSha256);
      put("new-terms", terms.text);
      this.#shown = termsSha256;
      // The device refuses such terms, so do not offer to agree to them.
      const refused = this.#device.terms.private && !terms.private;
      byId("private-no-more").hidden = !refused;
      byId("limit-part").hidden = this.#agree.hidden = refused;
      this.#agree.disabled = refused;
    } catch (error) {
      byId("look-again").hidden = false;
      showError(error);
    }
  }
}

/** @type {(old: Terms, asked: Terms) => Generator<string, void, unknown>} */
function* changeTexts(old, asked) {
  /** @type {[string, (terms: Terms) => unknown][]} */
  const facts = [
    [say("Time for a check-in"), (terms) => durationText(secondsPerCheckin(terms) ?? 0)],
    [say("Who asks"), (terms) => terms.owner],
    [say("How to reach them"), (terms) => terms.contact],
    [say("What the model is for"), (terms) => terms.purpose],
    [say("What is sensed"), (terms) => terms.sensors],
    [say("How it is computed"), (terms) => terms.features.description],
    [say("The answers"), (terms) => terms.target.labels.join(", ")],
    [say("Samples in a check-in"), (terms) => count(terms.collection.batch)],
    [say("Check-ins at most"), (terms) => terms.collection.checkins ?? say("as you allow")],
    [say("The kind of model"), (terms) => terms.model.kind],
    [say("How it is hidden"), (terms) => terms.privacy.mechanism],
  ];
  for (const [name, of] of facts) {
    const values = { name, old: String(of(old)), new: String(of(asked)) };
    if (values.old !== values.new) yield say("{name}: {old} → {new}", values);
  }
  const rest = (/** @type {Terms} */ { features, target, model }) =>
    JSON.stringify([{ ...features, description: "" }, target.description, target.scale, target.unit, { ...model, kind: 0 }]);
  if (rest(old) !== rest(asked)) yield say("Settings of the sensor or the model: see below.");
}

/** @type {(before: PrivacyPromise, after: PrivacyPromise) => Generator<string, void, unknown>} */
function* privacyTexts(before, after) {
  const [was, is] = [before.whom === "person", after.whom === "person"];
  if (was && !is) yield say("The promise would be for single samples, no longer for all of it.");
  if (is && !was) yield say("The promise would cover everything that you contribute, not only single samples.");
  if (!after.private && before.private) yield say("The task would no longer be private.");
  const values = { name: say("Privacy"), old: pillOf(before), new: pillOf(after) };
  if (values.old === values.new && was === is) return;
  if (was !== is) yield say("{name}: {old} → {new}", values);
  else if (after.epsilon > before.epsilon) yield say("Privacy becomes weaker: {old} → {new}.", values);
  else yield say("Privacy becomes stronger: {old} → {new}.", values);
  yield say(after.sentences.loss);
}

/** @param {PrivacyPromise} promise */
function pillOf({ level, epsilon: lost }) {
  return `${say(level.pill)}, ε = ${epsilon(lost)}`;
}

/** @type {(value: unknown, path?: string) => Map<string, string>} */
function flatten(value, path = "") {
  const nested = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!nested) return new Map([[path, JSON.stringify(value)]]);
  const entries = Object.entries(value).flatMap(([name, inner]) => [
    ...flatten(inner, path ? `${path}.${name}` : name),
  ]);
  return new Map(entries);
}

/**
 * Write a value for people: numbers without rounding errors.
 *
 * @param {string | undefined} json
 */
function valueText(json) {
  const value = JSON.parse(json ?? "null") ?? "–";
  if (typeof value === "number") return number(value, 9);
  return Array.isArray(value) ? value.join(", ") : String(value);
}
