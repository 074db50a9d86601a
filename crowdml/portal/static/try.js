// Trying a task's model: what is entered or sensed stays in this browser.

import { makeFeatures } from "../web/columns.js";
import { chance, significant } from "../web/figures.js";
import { MODELS } from "../web/models/index.js";
import { language, phraseOf, say } from "../web/page/say.js";
import { Sensing, featuresOf } from "../web/sensing.js";
import { isTypedIn, missing, sourceOf } from "../web/sensors/index.js";

const SILENCE_MS = 3000; // without a reading: there is no sensor
let stop = null; // ends the sensing that is under way

/** What the model of this moment makes of what is entered or sensed. */
export async function predict(form, output) {
  if (stop) return stop();
  const sensor = form.dataset.sensor ? JSON.parse(form.dataset.sensor) : null;
  try {
    if (sensor && !isTypedIn(sensor)) await sense(form, output, sensor);
    else output.replaceChildren(...answer(await learntModel(form), entered(form, sensor)));
  } catch (trouble) {
    output.replaceChildren(paragraph(say(phraseOf(trouble))));
  }
}

/** The values of x in their own units; null for a column that is left empty. */
function entered(form, sensor) {
  const texts = [...form.querySelectorAll("[name=x]")].flatMap((field) =>
    field.type === "number" ? [field.value] : field.value.split(/[\s,;]+/).filter(Boolean),
  );
  const numbers = texts.map((text) => (text === "" ? null : Number(text)));
  const count = Number(form.dataset.count);
  const valid = (number) => Number.isFinite(number) || (number === null && !sensor);
  if (numbers.length !== count || !numbers.every(valid)) {
    throw new Error(say("Please enter {count} numbers.", { count }));
  }
  return sensor ? featuresOf(sensor, count, numbers) : numbers;
}

/** Reads the sensor and predicts anew about once a second, until the button is pressed again. */
async function sense(form, output, sensor) {
  const source = sourceOf(sensor.kind);
  await source.ask?.(); // first, while the tap counts as the reason
  const learnt = await learntModel(form);
  const often = { ...sensor, every: 1, trigger: "always" };
  const sensing = new Sensing(often, Number(form.dataset.count));
  output.replaceChildren(paragraph(say("Reading …")));
  const button = form.querySelector("button");
  const before = button.textContent;
  // A computer may have the browser's part of a sensor, and nothing behind it.
  const patience = setTimeout(() => {
    stop?.();
    output.replaceChildren(paragraph(say(missing(source).phrase)));
  }, SILENCE_MS + (1000 * sensor.window) / sensor.rate);
  const quiet = await source.start((time, reading) => {
    clearTimeout(patience);
    for (const { x } of sensing.push(time, reading, 0)) output.replaceChildren(...answer(learnt, x));
  }, sensor);
  button.textContent = say("Stop");
  stop = () => {
    stop = null;
    clearTimeout(patience);
    quiet();
    button.textContent = before;
  };
}

/** The model that can be saved, too: weights and intercepts in the order of its parameters. */
async function learntModel(form) {
  const reply = await fetch(form.dataset.model);
  if (!reply.ok) throw new Error(say("The model could not be loaded."));
  const { kind, weights, intercepts, labels, names, ...constants } = await reply.json();
  const { center = [], scale = [], length = 1, missing = "reject" } = constants;
  const model = MODELS[kind].make({ intercept: true }, weights[0].length, labels.length);
  const w = Float64Array.from([...weights.flat(), ...intercepts]);
  const columns = { count: names.length, names, center, scale, length, missing };
  const { norm, unit } = form.dataset;
  return { kind, model, w, labels, columns, norm: Number(norm), unit };
}

/** What it predicts, and for a model that gives probabilities how sure it is of each label. */
function answer({ kind, model, w, labels, columns, norm, unit }, readings) {
  const x = makeFeatures(columns, readings, norm);
  const y = model.predict(w, x);
  const result = labels[y] ?? `${significant(y, 3, language)} ${unit}`.trimEnd();
  const said = paragraph(say("The model says: {result}", { result }));
  if (kind !== "softmax") return [said];
  const scores = model.scores(w, x);
  const shares = scores.map((score) => 1 / scores.reduce((sum, s) => sum + Math.exp(s - score), 0));
  return [said, chances(labels, shares)];
}

function chances(labels, shares) {
  const order = labels.map((_, k) => k).sort((a, b) => shares[b] - shares[a]);
  const rows = order.slice(0, 5).flatMap((k) => {
    const bar = make("meter", { value: shares[k] });
    bar.setAttribute("aria-label", labels[k]);
    const share = ` ${say(chance(shares[k]))}`;
    return [make("dt", {}, labels[k]), make("dd", {}, bar, share)];
  });
  return make("dl", { className: "chances" }, ...rows);
}

const paragraph = (text) => make("p", { className: "lead" }, text);

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
