import assert from "node:assert/strict";
import { test } from "node:test";

import { Outcome, RetryTimer } from "../../../crowdml/web/index.js";

/** Return always the same share of the range in place of a random number. */
const part = (/** @type {number} */ share) => ({ below: (/** @type {number} */ n) => share * n });

test("waits double up to the longest, and spread from a half to one and a half", () => {
  for (const share of [0, 0.25, 0.999999]) {
    let now = 100;
    const retryTimer = new RetryTimer({ base: 1, longest: 60, clock: () => now, chance: part(share) });
    for (let k = 0; k < 40; k++) {
      assert.ok(retryTimer.isDue);
      retryTimer.waitAfterFailure(Outcome.WAITING);
      const wanted = Math.min(60, 2 ** k) * (0.5 + share);
      assert.ok(Math.abs(retryTimer.seconds - wanted) < 1e-9 * now);
      assert.ok(!retryTimer.isDue);
      now += retryTimer.seconds;
    }
  }
});

test("devices that fail together do not come back together", () => {
  const waits = Array.from({ length: 4 }, () => {
    const retryTimer = new RetryTimer({ clock: () => 0 });
    retryTimer.waitAfterFailure(Outcome.WAITING);
    return retryTimer.seconds;
  });
  assert.ok(new Set(waits).size > 1, "four of a million are the same with a chance of 1e-18");
});

test("the reason for waiting is known until the next attempt is over", () => {
  let now = 0;
  const retryTimer = new RetryTimer({ clock: () => now });
  assert.equal(retryTimer.reason, Outcome.WAITING);
  assert.equal(retryTimer.waitAfterFailure(Outcome.TERMS), Outcome.TERMS);
  assert.equal(retryTimer.reason, Outcome.TERMS);
  now += 10;
  assert.ok(retryTimer.isDue);
  assert.equal(retryTimer.reason, Outcome.TERMS, "asking changes nothing");
  retryTimer.waitAfterFailure(Outcome.PAUSED);
  assert.equal(retryTimer.reason, Outcome.PAUSED);
});

test("once cleared nothing is waited for, and failures are forgotten", () => {
  const retryTimer = new RetryTimer({ base: 1, clock: () => 0 });
  for (let k = 0; k < 9; k++) retryTimer.waitAfterFailure(Outcome.PAUSED);
  retryTimer.clear();
  assert.ok(retryTimer.isDue);
  assert.equal(retryTimer.seconds, 0);
  assert.equal(retryTimer.reason, Outcome.WAITING);
  retryTimer.waitAfterFailure(Outcome.WAITING);
  assert.ok(retryTimer.seconds <= 1.5);
});

test("a device waits as long as a server asks it to", () => {
  const retryTimer = new RetryTimer({ base: 1, clock: () => 0 });
  retryTimer.waitAfterFailure(Outcome.WAITING, 500);
  assert.equal(retryTimer.seconds, 500);
});

test("a full minibatch waits for a random part of the jitter, once", () => {
  let now = 0;
  const retryTimer = new RetryTimer({ jitter: 8, clock: () => now, chance: part(0.25) });
  retryTimer.batchFilled();
  assert.equal(retryTimer.seconds, 2);
  now = 1.5;
  retryTimer.batchFilled();
  assert.equal(retryTimer.seconds, 0.5);
  now = 5;
  retryTimer.batchFilled();
  assert.ok(retryTimer.isDue);
  retryTimer.clear();
  retryTimer.batchFilled();
  assert.equal(retryTimer.seconds, 2, "the next minibatch waits again");
});

test("a full minibatch does not shorten a wait, and without jitter adds none", () => {
  const retryTimer = new RetryTimer({ jitter: 8, clock: () => 0 });
  retryTimer.waitAfterFailure(Outcome.WAITING, 500);
  retryTimer.batchFilled();
  assert.equal(retryTimer.seconds, 500);
  const hasty = new RetryTimer({ clock: () => 0 });
  hasty.batchFilled();
  assert.ok(hasty.isDue);
});
