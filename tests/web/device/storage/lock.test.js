/** Check what a browser without locks is told. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { withLock } from "../../../../crowdml/web/device/storage/lock.js";
import { DeviceError } from "../../../../crowdml/web/index.js";

test("without locks nothing is done", async () => {
  Object.defineProperty(globalThis, "navigator", { value: {} });
  await assert.rejects(withLock("a", () => assert.fail("it ran")), DeviceError);
});
