/** Write the sentences about what the page does or waits for. */

import { Outcome } from "../index.js";
import { sensorOf } from "../sensors/index.js";
import { time } from "./elements.js";
import { say } from "./say.js";

/** @import { Participation } from "./participation.js" */
/** @import { Reader } from "./reader.js" */

/** @param {Participation} part */
export function statusOf(part) {
  if (part.limited) {
    return part.waiting
      ? `${say("Your privacy limit is reached. Nothing is collected.")} ${waiting(part)}`
      : say("Your privacy limit is reached. Nothing is collected or sent any more.");
  }
  if (part.trouble) return say(part.trouble);
  if (!part.running) {
    const paused = say("Paused. Nothing is collected.");
    return part.waiting ? `${paused} ${waiting(part)}` : paused;
  }
  if (document.hidden) return say("Paused in the background. Nothing is collected.");
  return `${absence(part)}${collecting(part)}`;
}

/**
 * Say when the next sample is due, and the next message.
 *
 * @param {Participation} part
 * @param {number} nSamples In the buffer.
 */
export function outlook(part, nSamples) {
  if (part.waiting || part.taskPaused) return untilWhen(part);
  const wait = part.reader.nextSample;
  if (wait === undefined) return "";
  if (part.sensor.trigger === "label-change") {
    return say("The next sample is taken when your answer changes.");
  }
  const missing = part.device.terms.collection.batch - nSamples - 1;
  const rest = wait + Math.max(0, missing) * part.sensor.every;
  return say("Next sample in {soon}, about {later} to the next message.", {
    soon: time(Math.ceil(wait)),
    later: time(Math.ceil(rest)),
  });
}

/**
 * Say what the crowd's model waits for before it predicts, and about how long.
 *
 * @param {Pick<Reader, "untilWindow" | "sensor">} reader
 */
export function untilWindow({ untilWindow, sensor: { window: n } }) {
  return say("in about {time}: it needs {n} readings", { time: time(Math.ceil(untilWindow)), n });
}

/**
 * Say until when the page waits.
 *
 * @param {Participation} part
 */
function untilWhen({ device, crowd, waiting, taskPaused }) {
  if (!navigator.onLine) return say("Goes on as soon as there is a network.");
  const wait = Math.ceil(waiting ? device.wait : crowd.wait);
  if (wait <= 0) return "";
  const values = { time: time(wait) };
  return taskPaused
    ? say("Asks again in {time} whether the task goes on.", values)
    : say("Will try again in {time}.", values);
}

/** @param {Participation} part */
function collecting(part) {
  const sensor = part.typedIn ? "" : sensorOf(part.sensor.kind).name;
  if (part.labelled && sensor && !part.reader.sensing) {
    return say("Starting the {sensor}. Allow it if the browser asks.", { sensor });
  }
  if (part.reader.silent) {
    return say("No readings come from the {sensor}. If this device has none, take part with a phone.", {
      sensor,
    });
  }
  const full = part.outcome === Outcome.FULL;
  if (part.taskPaused || part.waiting) {
    const why = waiting(part);
    return full ? `${say("The buffer is full, so nothing more is kept.")} ${why}` : why;
  }
  if (part.typedIn) return say("Ready for the next sample.");
  if (!part.labelled) return say("Nothing is read until you answer.");
  if (part.label === null) return say("Nothing is collected until you say what is true now.");
  const answer = part.device.terms.target.labels[part.label] ?? part.label;
  return say("Collecting: {answer}.", { answer });
}

/** @param {Participation} part */
function waiting({ device, taskPaused }) {
  if (taskPaused) return say("The task is paused by its owner. Your samples are kept here.");
  if (!navigator.onLine) return say("Waiting for the network. Your samples are kept and used later.");
  return device.askedToWait
    ? say("The server asks this device to wait. Your samples are kept and used then.")
    : say(
        "The server cannot be reached or is busy, or your browser does not trust its certificate. Your samples are kept and used later.",
      );
}

/** @param {Participation} part */
function absence({ away, label }) {
  if (!away) return "";
  const pause = say("Collection was paused for {time} while this page was in the background.", {
    time: time(away),
  });
  const check = label === null ? "" : `${say("Check that your answer is still right.")} `;
  return `${pause} ${check}`;
}
