import assert from "node:assert/strict";
import { test } from "node:test";

import { Outcome, Waiting } from "../../../crowdml/web/index.js";

/** Return always the same share of the range in place of a random number. */
const part = (/** @type {number} */ share) => ({ below: (/** @type {number} */ n) => share * n });

test("waits double up to the longest, and spread from a half to one and a half", () => {
  for (const share of [0, 0.25, 0.999999]) {
    let now = 100;
    const waiting = new Waiting({ base: 1, longest: 60, clock: () => now, chance: part(share) });
    for (let k = 0; k < 40; k++) {
      assert.ok(waiting.due);
      waiting.hold(Outcome.WAITING);
      const wanted = Math.min(60, 2 ** k) * (0.5 + share);
      assert.ok(Math.abs(waiting.seconds - wanted) < 1e-9 * now);
      assert.ok(!waiting.due);
      now += waiting.seconds;
    }
  }
});

test("devices that fail together do not come back together", () => {
  const waits = Array.from({ length: 4 }, () => {
    const waiting = new Waiting({ clock: () => 0 });
    waiting.hold(Outcome.WAITING);
    return waiting.seconds;
  });
  assert.ok(new Set(waits).size > 1, "four of a million are the same with a chance of 1e-18");
});

test("the reason for waiting is known until the next attempt is over", () => {
  let now = 0;
  const waiting = new Waiting({ clock: () => now });
  assert.equal(waiting.why, Outcome.WAITING);
  assert.equal(waiting.hold(Outcome.TERMS), Outcome.TERMS);
  assert.equal(waiting.why, Outcome.TERMS);
  now += 10;
  assert.ok(waiting.due);
  assert.equal(waiting.why, Outcome.TERMS, "asking changes nothing");
  waiting.hold(Outcome.PAUSED);
  assert.equal(waiting.why, Outcome.PAUSED);
});

test("once cleared nothing is waited for, and failures are forgotten", () => {
  const waiting = new Waiting({ base: 1, clock: () => 0 });
  for (let k = 0; k < 9; k++) waiting.hold(Outcome.PAUSED);
  waiting.clear();
  assert.ok(waiting.due);
  assert.equal(waiting.seconds, 0);
  assert.equal(waiting.why, Outcome.WAITING);
  waiting.hold(Outcome.WAITING);
  assert.ok(waiting.seconds <= 1.5);
});

test("a device waits as long as a server asks it to", () => {
  const waiting = new Waiting({ base: 1, clock: () => 0 });
  waiting.hold(Outcome.WAITING, 500);
  assert.equal(waiting.seconds, 500);
});

test("a full minibatch waits for a random part of the jitter, once", () => {
  let now = 0;
  const waiting = new Waiting({ jitter: 8, clock: () => now, chance: part(0.25) });
  waiting.batchFilled();
  assert.equal(waiting.seconds, 2);
  now = 1.5;
  waiting.batchFilled();
  assert.equal(waiting.seconds, 0.5);
  now = 5;
  waiting.batchFilled();
  assert.ok(waiting.due);
  waiting.clear();
  waiting.batchFilled();
  assert.equal(waiting.seconds, 2, "the next minibatch waits again");
});

test("a full minibatch does not shorten a wait, and without jitter adds none", () => {
  const waiting = new Waiting({ jitter: 8, clock: () => 0 });
  waiting.hold(Outcome.WAITING, 500);
  waiting.batchFilled();
  assert.equal(waiting.seconds, 500);
  const hasty = new Waiting({ clock: () => 0 });
  hasty.batchFilled();
  assert.ok(hasty.due);
});
