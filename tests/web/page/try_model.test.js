/** What people type to try a model, and the times that pages write. */

import assert from "node:assert/strict";
import { test } from "node:test";

/** @type {any} */
const world = globalThis;
world.document = {
  documentElement: { lang: "en" },
  getElementById: () => null,
  querySelectorAll: () => [],
};

const { numbersIn } = await import("../../../crowdml/web/page/try_model.js");
const { durationText } = await import("../../../crowdml/web/page/elements.js");

test("a comma between digits is a decimal sign where the language writes one", () => {
  assert.deepEqual(numbersIn("0,25 -1,5; 2", ","), ["0.25", "-1.5", "2"]);
  assert.deepEqual(numbersIn("0.25, 1, 2", ","), ["0.25", "1", "2"]);
  assert.deepEqual(numbersIn("9,1 0;2", "."), ["9", "1", "0", "2"]);
});

test("short times are written more finely, because check-ins multiply their rounding", () => {
  const written = [0.8, 1, 42.4, 93, 600, 1203.2, 24064].map(durationText);
  assert.deepEqual(written, [
    "0.8 seconds", "1 second", "42 seconds", "1.5 minutes", "10 minutes", "20 minutes", "6 hours 41 minutes",
  ]);
});
