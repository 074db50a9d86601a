/** The state in plain words. */

import { Outcome } from "../index.js";
import { sensorOf } from "../sensors/index.js";

/** @import { Participation } from "./participation.js" */

/** @param {Participation} part */
export function statusOf(part) {
  if (part.limited) return `Your privacy limit is reached. Nothing is collected${unsent(part)}`;
  if (part.trouble) return part.trouble;
  if (!part.running) return `Paused. Nothing is collected. ${part.waiting ? waiting(part) : ""}`;
  if (document.hidden) return "Paused in the background. Nothing is collected.";
  return `${absence(part)}${collecting(part)}`;
}

/** @param {Participation} part */
function collecting(part) {
  const { name } = part.manual ? { name: "" } : sensorOf(part.sensor.kind);
  if (name && !part.sensing) return `Starting the ${name}. Allow it if the browser asks.`;
  if (part.silent) {
    return `No readings come from the ${name}. If this device has none, take part with a phone.`;
  }
  const full = part.outcome === Outcome.FULL ? "The buffer is full, so nothing more is kept. " : "";
  if (part.taskPaused || part.waiting) return full + waiting(part);
  if (part.manual) return "Ready for the next sample.";
  if (part.label === null) return "Nothing is collected until you say what is true now.";
  return `Collecting: ${part.device.terms.target.labels[part.label] ?? part.label}.`;
}

/** @param {Participation} part */
function unsent(part) {
  return part.waiting ? `. ${waiting(part)}` : " or sent any more.";
}

/** @param {Participation} part */
function waiting({ taskPaused }) {
  if (taskPaused) return "The task is paused by its owner. Your samples are kept here.";
  return navigator.onLine
    ? "The server cannot be reached, or is busy. Your samples are kept and sent later."
    : "Waiting for the network. Your samples are kept and sent later.";
}

/** @param {Participation} part */
function absence({ away, label }) {
  if (!away) return "";
  const check = label === null ? "" : " Check that your answer is still right.";
  return `Collection was paused for ${away} s while this page was in the background.${check} `;
}
