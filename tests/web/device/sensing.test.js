/** Check sensing beyond the vectors: readings that are interrupted on purpose. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Sensing } from "../../../crowdml/web/device/sensing.js";

/** @type {import("../../../crowdml/web/protocol/sensor.js").Sensor} */
const SENSOR = {
  kind: "motion",
  rate: 10,
  window: 4,
  transform: "summary",
  first_bin: 1,
  scale: 1,
  every: 0,
  trigger: "always",
  fields: [],
};

test("a window does not reach across an interruption, however short", () => {
  const sensing = new Sensing(SENSOR, 4);
  for (let k = 0; k < 4; k++) sensing.push(k / 10, 1, 0);
  sensing.interrupt();
  const taken = [];
  for (let k = 0; k < 6; k++) taken.push(...sensing.push(0.35 + k / 10, 9, 0));
  assert.ok(taken.length > 0);
  for (const { window } of taken) assert.deepEqual(window, [9, 9, 9, 9]);
});

test("what was taken before an interruption still counts for the trigger", () => {
  const sensing = new Sensing({ ...SENSOR, trigger: "label-change" }, 4);
  const taken = [];
  for (let k = 0; k < 20; k++) {
    if (k === 10) sensing.interrupt();
    taken.push(...sensing.push(k / 10, 1, 0));
  }
  assert.equal(taken.length, 1);
});

test("what was taken before the page was loaded counts, and says how long to wait", () => {
  const sensing = new Sensing({ ...SENSOR, every: 2 }, 4);
  assert.ok(!Number.isFinite(sensing.wait));
  sensing.recall(-1.5, 0);
  const taken = [];
  for (let k = 0; k < 3; k++) taken.push(...sensing.push(k / 10, 1, 0));
  assert.ok(Math.abs(sensing.wait - 0.3) < 1e-9);
  for (let k = 3; k < 20; k++) taken.push(...sensing.push(k / 10, 1, 0));
  assert.deepEqual(taken.map(({ time }) => time), [0.5]);
  assert.ok(Math.abs(sensing.wait - 0.6) < 1e-9);
});
