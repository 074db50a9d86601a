/** What a page says that waits: for what, and until when. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Outcome } from "../../../crowdml/web/index.js";

/** @type {any} */
const world = globalThis;
const network = { onLine: true };
world.document = {
  hidden: false,
  documentElement: { lang: "en" },
  getElementById: () => null,
  querySelectorAll: () => [],
};
Object.defineProperty(world, "navigator", { value: network, configurable: true });

const { statusOf, nextSampleText, untilWindowText } = await import("../../../crowdml/web/page/status.js");
const { SensorReader } = await import("../../../crowdml/web/page/sensor_reader.js");

/**
 * A page that collects, unless something else is said.
 *
 * @param {Record<string, any>} changes
 * @returns {any}
 */
function participation({ reader = {}, device = {}, crowd = {}, ...changes }) {
  return {
    running: true,
    labelled: true,
    label: 0,
    waiting: false,
    taskPaused: false,
    atLimit: false,
    trouble: null,
    secondsAway: 0,
    typedIn: false,
    outcome: Outcome.COLLECTED,
    sensor: { kind: "motion", every: 10, trigger: "always" },
    reader: { sensing: true, silent: false, nextSample: 3, ...reader },
    crowd: { wait: 0, ...crowd },
    device: {
      wait: 0,
      askedToWait: false,
      terms: { collection: { batch: 5 }, target: { labels: ["Still", "Walking"] } },
      ...device,
    },
    ...changes,
  };
}

/**
 * @param {Record<string, any>} changes
 * @param {{online?: boolean, hidden?: boolean, nSamples?: number}} [world]
 */
function page(changes, { online = true, hidden = false, nSamples = 1 } = {}) {
  network.onLine = online;
  world.document.hidden = hidden;
  const made = participation(changes);
  return [statusOf(made), nextSampleText(made, nSamples)];
}

const WAITING = { waiting: true, outcome: Outcome.WAITING };

test("a page that collects says when the next sample and the next message are due", () => {
  const words = "Next sample in 3 seconds, about 33 seconds to the next message.";
  assert.deepEqual(page({}), ["Collecting: Still.", words]);
  const rarely = { sensor: { kind: "motion", every: 10, trigger: "label-change" } };
  assert.equal(page(rarely)[1], "The next sample is taken when your answer changes.");
});

test("a page that its owner paused says who waits for whom, and when it asks again", () => {
  const paused = { taskPaused: true, waiting: true, outcome: Outcome.PAUSED, device: { wait: 41.2 } };
  assert.deepEqual(page(paused), [
    "The task is paused by its owner. Your samples are kept here.",
    "Asks again in 42 seconds whether the task goes on.",
  ]);
  const seen = { taskPaused: true, crowd: { wait: 12 } };
  assert.equal(page(seen)[1], "Asks again in 12 seconds whether the task goes on.");
});

test("a page that was asked to wait says so, and for how long", () => {
  assert.deepEqual(page({ ...WAITING, device: { wait: 600, askedToWait: true } }), [
    "The server asks this device to wait. Your samples are kept and used then.",
    "Will try again in 10 minutes.",
  ]);
});

test("a page without a network waits for the network, and for no time", () => {
  assert.deepEqual(page({ ...WAITING, device: { wait: 99 } }, { online: false }), [
    "Waiting for the network. Your samples are kept and used later.",
    "Goes on as soon as there is a network.",
  ]);
});

test("a page whose server is lost says what may be wrong, and when it tries again", () => {
  const [status, until] = page({ ...WAITING, device: { wait: 2 } });
  assert.match(status ?? "", /^The server cannot be reached or is busy, or your browser does not/);
  assert.match(status ?? "", /Your samples are kept and used later\.$/);
  assert.equal(until, "Will try again in 2 seconds.");
});

test("a full buffer, a pause and a limit say what is kept while they wait", () => {
  const full = page({ waiting: true, outcome: Outcome.FULL, device: { wait: 5, askedToWait: true } });
  assert.match(full[0] ?? "", /^The buffer is full, so nothing more is kept\. The server asks/);
  const paused = page({ ...WAITING, running: false }, { online: false });
  assert.match(paused[0] ?? "", /^Paused\. Nothing is collected\. Waiting for the network\./);
  const limited = page({ ...WAITING, atLimit: true }, { online: false });
  assert.match(limited[0] ?? "", /^Your privacy limit is reached\. Nothing is collected\. Waiting/);
});

test("a page that waits for a person or a sensor says for which", () => {
  const asks = { labelled: false, label: null, reader: { sensing: false, nextSample: undefined } };
  assert.deepEqual(page(asks), ["Nothing is read until you answer.", ""]);
  assert.equal(page({ label: null })[0], "Nothing is collected until you say what is true now.");
  const starts = page({ reader: { sensing: false, nextSample: undefined } })[0] ?? "";
  assert.match(starts, /^Starting the .*\. Allow it if the browser asks\.$/);
  const silent = page({ reader: { silent: true, nextSample: undefined } })[0] ?? "";
  assert.match(silent, /^No readings come from the .*take part with a phone\.$/);
  assert.equal(page({}, { hidden: true })[0], "Paused in the background. Nothing is collected.");
  const absence = page({ secondsAway: 75 })[0] ?? "";
  assert.match(absence, /^Collection was paused for 75 seconds .* Check that your answer is still right\./);
});

test("before the first window is full, the page says how many readings it needs and how long", () => {
  const sensor = { kind: "motion", rate: 20, window: 64, every: 10, transform: "spectrum" };
  const device = { terms: { features: { count: 33 } } };
  const reader = new SensorReader(/** @type {any} */ ({ sensor, device }), () => {});
  assert.equal(untilWindowText(reader), "in about 4 seconds: it needs 64 readings");
  assert.equal(untilWindowText({ untilWindow: 0.4, sensor: reader.sensor }), "in about 1 second: it needs 64 readings");
});
