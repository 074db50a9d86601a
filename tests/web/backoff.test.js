import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../../crowdml/web/index.js";

test("waits double, with jitter, up to the longest", () => {
  let now = 100;
  const backoff = new Backoff({ base: 1, longest: 60, clock: () => now });
  assert.ok(backoff.due);
  for (let k = 0; k < 40; k++) {
    backoff.failed();
    const delay = Math.min(60, 2 ** k);
    assert.ok(backoff.wait >= delay / 2 && backoff.wait <= delay * 1.5);
    assert.ok(!backoff.due);
  }
  now += 91;
  assert.ok(backoff.due);
});

test("a success forgets the failures", () => {
  const backoff = new Backoff({ base: 1, clock: () => 0 });
  for (let k = 0; k < 9; k++) backoff.failed();
  backoff.succeeded();
  assert.ok(backoff.due);
  backoff.failed();
  assert.ok(backoff.wait <= 1.5);
});

test("a server's wish for patience counts, and jitter postpones", () => {
  const backoff = new Backoff({ base: 1, clock: () => 0 });
  backoff.failed(500);
  assert.equal(backoff.wait, 500);
  backoff.postpone(3);
  assert.equal(backoff.wait, 500);
  backoff.succeeded();
  backoff.postpone(3);
  assert.equal(backoff.wait, 3);
});
