/** Write the sentences about what the page does or waits for. */

import { Outcome } from "../index.js";
import { sensorOf } from "../sensors/index.js";
import { durationText } from "./elements.js";
import { say } from "./say.js";

/** @import { Participation } from "./participation.js" */
/** @import { SensorReader } from "./sensor_reader.js" */

/** @param {Participation} participation */
export function statusOf(participation) {
  if (participation.atLimit) {
    return participation.waiting
      ? `${say("Your privacy limit is reached. Nothing is collected.")} ${waitingText(participation)}`
      : say("Your privacy limit is reached. Nothing is collected or sent any more.");
  }
  if (participation.trouble) return say(participation.trouble);
  if (!participation.running) {
    const paused = say("Paused. Nothing is collected.");
    return participation.waiting ? `${paused} ${waitingText(participation)}` : paused;
  }
  if (document.hidden) return say("Paused in the background. Nothing is collected.");
  return `${absenceText(participation)}${collectingText(participation)}`;
}

/**
 * Say when the next sample is due, and the next message.
 *
 * @param {Participation} participation
 * @param {number} nSamples In the buffer.
 */
export function nextSampleText(participation, nSamples) {
  if (participation.waiting || participation.taskPaused) return untilWhenText(participation);
  const wait = participation.reader.nextSample;
  if (wait === undefined) return "";
  if (participation.sensor.trigger === "label-change") {
    return say("The next sample is taken when your answer changes.");
  }
  const missing = participation.device.terms.collection.batch - nSamples - 1;
  const rest = wait + Math.max(0, missing) * participation.sensor.every;
  return say("Next sample in {soon}, about {later} to the next message.", {
    soon: durationText(Math.ceil(wait)),
    later: durationText(Math.ceil(rest)),
  });
}

/**
 * Say what the crowd's model waits for before it predicts, and about how long.
 *
 * @param {Pick<SensorReader, "untilWindow" | "sensor">} reader
 */
export function untilWindowText({ untilWindow, sensor: { window: n } }) {
  return say("in about {time}: it needs {n} readings", { time: durationText(Math.ceil(untilWindow)), n });
}

/**
 * Say until when the page waits.
 *
 * @param {Participation} participation
 */
function untilWhenText({ device, crowd, waiting, taskPaused }) {
  if (!navigator.onLine) return say("Goes on as soon as there is a network.");
  const wait = Math.ceil(waiting ? device.wait : crowd.wait);
  if (wait <= 0) return "";
  const values = { time: durationText(wait) };
  return taskPaused
    ? say("Asks again in {time} whether the task goes on.", values)
    : say("Will try again in {time}.", values);
}

/** @param {Participation} participation */
function collectingText(participation) {
  const sensor = participation.typedIn ? "" : sensorOf(participation.sensor.kind).name;
  if (participation.labelled && sensor && !participation.reader.sensing) {
    return say("Starting the {sensor}. Allow it if the browser asks.", { sensor });
  }
  if (participation.reader.silent) {
    return say("No readings come from the {sensor}. If this device has none, take part with a phone.", {
      sensor,
    });
  }
  const full = participation.outcome === Outcome.FULL;
  if (participation.taskPaused || participation.waiting) {
    const why = waitingText(participation);
    return full ? `${say("The buffer is full, so nothing more is kept.")} ${why}` : why;
  }
  if (participation.typedIn) return say("Ready for the next sample.");
  if (!participation.labelled) return say("Nothing is read until you answer.");
  if (participation.label === null) return say("Nothing is collected until you say what is true now.");
  const answer = participation.device.terms.target.labels[participation.label] ?? participation.label;
  return say("Collecting: {answer}.", { answer });
}

/** @param {Participation} participation */
function waitingText({ device, taskPaused }) {
  if (taskPaused) return say("The task is paused by its owner. Your samples are kept here.");
  if (!navigator.onLine) return say("Waiting for the network. Your samples are kept and used later.");
  return device.askedToWait
    ? say("The server asks this device to wait. Your samples are kept and used then.")
    : say(
        "The server cannot be reached or is busy, or your browser does not trust its certificate. Your samples are kept and used later.",
      );
}

/** @param {Participation} participation */
function absenceText({ secondsAway, label }) {
  if (!secondsAway) return "";
  const pause = say("Collection was paused for {time} while this page was in the background.", {
    time: durationText(secondsAway),
  });
  const check = label === null ? "" : `${say("Check that your answer is still right.")} `;
  return `${pause} ${check}`;
}
