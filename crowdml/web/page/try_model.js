/** Try a task's model; what is entered or sensed stays in this browser. */

import { Sensing, featuresOf } from "../device/sensing.js";
import { MODELS } from "../models/index.js";
import { phrase } from "../phrase.js";
import { scaledFeatures } from "../protocol/features.js";
import { probabilityInWords, significant } from "../protocol/numbers_in_words.js";
import { isTypedIn, missing, sourceOf } from "../sensors/index.js";
import { language, phraseOf, say } from "./say.js";

/** @import { Columns, Norm, Sensor } from "../types.js" */

const SILENCE_MS = 3000; // without a reading, the device has no sensor

/** The decimal sign of the page's language. */
const DECIMAL = (1.5).toLocaleString(language).charAt(1);

/** @type {(() => void) | null} Ends the sensing that is under way. */
let stop = null;

/**
 * Predict once from what was entered, or keep predicting from the sensor.
 *
 * @param {HTMLFormElement} form
 * @param {HTMLElement} output
 * @param {() => Promise<string>} [load] Gets the model, as the server exports it.
 */
export async function predict(form, output, load = () => fetchModel(form)) {
  if (stop) return stop();
  const { sensor: text } = form.dataset;
  /** @type {Sensor | null} */
  const sensor = text ? JSON.parse(text) : null;
  try {
    if (sensor && !isTypedIn(sensor)) await sense(form, output, sensor, load);
    else output.replaceChildren(...predictionOf(parseModel(form, await load()), readEntered(form, sensor)));
  } catch (trouble) {
    output.replaceChildren(paragraph(say(phraseOf(trouble))));
  }
}

/** @param {HTMLFormElement} form */
async function fetchModel(form) {
  const reply = await fetch(form.dataset["model"] ?? "");
  if (!reply.ok) throw new Error(say("The model could not be loaded."));
  return reply.text();
}

/**
 * Split a text into numbers. Where the language writes a decimal comma, a comma between digits is one.
 *
 * @type {(text: string, decimal: string) => string[]}
 */
export function numbersIn(text, decimal) {
  const plain = decimal === "," ? text.replace(/(\d),(?=\d)/g, "$1.") : text;
  return plain.split(/[\s,;]+/).filter(Boolean);
}

/**
 * Read the values of x in their own units; null for a column that is left empty.
 *
 * @type {(form: HTMLFormElement, sensor: Sensor | null) => Float64Array | (number | null)[]}
 */
function readEntered(form, sensor) {
  /** @type {HTMLInputElement[]} */
  const fields = [...form.querySelectorAll("[name=x]")].map((field) => /** @type {any} */ (field));
  const texts = fields.flatMap((field) =>
    field.type === "number" ? [field.value] : numbersIn(field.value, DECIMAL),
  );
  const numbers = texts.map((text) => (text === "" ? null : Number(text)));
  const count = Number(form.dataset["count"]);
  const valid = numbers.every((number) => Number.isFinite(number) || (number === null && !sensor));
  if (numbers.length !== count || !valid) throw new Error(say("Please enter {count} numbers.", { count }));
  return sensor ? featuresOf(sensor, count, /** @type {number[]} */ (numbers)) : numbers;
}

/**
 * Read the sensor and predict anew about once a second, until the button is pressed again.
 *
 * @type {(form: HTMLFormElement, output: HTMLElement, sensor: Sensor, load: () => Promise<string>) => Promise<void>}
 */
async function sense(form, output, sensor, load) {
  const source = sourceOf(sensor.kind);
  await source.ask?.(); // first, while the tap counts as the reason
  const model = parseModel(form, await load());
  const often = { ...sensor, every: 1, trigger: /** @type {const} */ ("always") };
  const sensing = new Sensing(often, Number(form.dataset["count"]));
  output.replaceChildren(paragraph(say("Reading …")));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
  const before = button.textContent;
  // A computer may have the browser's interface of a sensor, but not the sensor.
  const patience = setTimeout(() => {
    stop?.();
    output.replaceChildren(paragraph(say(missing(source).phrase)));
  }, SILENCE_MS + (1000 * sensor.window) / sensor.rate);
  const quiet = await source.start((time, reading) => {
    clearTimeout(patience);
    for (const { x } of sensing.push(time, reading, 0)) output.replaceChildren(...predictionOf(model, x));
  }, sensor);
  button.textContent = say("Stop");
  stop = () => {
    stop = null;
    clearTimeout(patience);
    quiet();
    button.textContent = before;
  };
}

/**
 * Read the exported model: weights and intercepts in the order of its parameters.
 *
 * @type {(form: HTMLFormElement, text: string) => any}
 */
function parseModel(form, text) {
  const { kind, weights, intercepts, labels, names, ...constants } = JSON.parse(text);
  const { center = [], scale = [], length = 1, missing = "reject" } = constants;
  const { make: made } = /** @type {any} */ (MODELS)[kind];
  const model = made({ intercept: true }, weights[0].length, labels.length);
  const w = Float64Array.from([...weights.flat(), ...intercepts]);
  const columns = { count: names.length, names, center, scale, length, missing };
  const { norm, unit } = form.dataset;
  return { kind, model, w, labels, columns, norm: Number(norm), unit };
}

/**
 * Show the prediction, and the probability of each label if the model gives probabilities.
 *
 * @type {(model: any, readings: Float64Array | (number | null)[]) => HTMLElement[]}
 */
function predictionOf({ kind, model, w, labels, columns, norm, unit }, readings) {
  const x = scaledFeatures(/** @type {Columns} */ (columns), readings, /** @type {Norm} */ (norm));
  const y = model.predict(w, x);
  const result = labels[y] ?? `${significant(y, 3, language)} ${unit}`.trimEnd();
  const said = paragraph(say("The model says: {result}", { result }));
  if (kind !== "softmax") return [said];
  /** @type {number[]} */
  const scores = [...model.scores(w, x)];
  const shares = scores.map((score) => 1 / scores.reduce((sum, s) => sum + Math.exp(s - score), 0));
  return [said, chances(labels, shares)];
}

/** @type {(labels: string[], shares: number[]) => HTMLElement} */
function chances(labels, shares) {
  const named = labels.map((label, k) => ({ label, share: shares[k] ?? 0 }));
  const best = named.sort((a, b) => b.share - a.share).slice(0, 5);
  const rows = best.flatMap(({ label, share }) => {
    const bar = Object.assign(document.createElement("progress"), { value: share });
    bar.setAttribute("aria-label", label);
    return [makeElement("dt", {}, label), makeElement("dd", {}, bar, ` ${say(share < 0.01 ? phrase("< 1 %") : probabilityInWords(share))}`)];
  });
  return makeElement("dl", { className: "chances" }, ...rows);
}

/** @param {string} text */
const paragraph = (text) => makeElement("p", { className: "lead" }, text);

/** @type {(name: string, properties: object, ...children: (string | Node)[]) => HTMLElement} */
function makeElement(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
