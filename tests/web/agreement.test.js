/** What an agreement refuses, whatever a server or a caller wants. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Agreement,
  Chance,
  Ledger,
  LimitReached,
  Rejected,
  TermsChanged,
  Unreachable,
} from "../../crowdml/web/index.js";
import { vectors } from "./vectors.js";

/** @import { Chance as AnyChance, Level } from "../../crowdml/web/types.js" */

const { text, sha256 } = vectors("terms")[0]?.output ?? {};
const agreement = await Agreement.of({ terms: text, limits: { perSample: 1, perDevice: 2 } });
const chance = new Chance();

/**
 * @param {number} n
 * @param {Ledger} ledger
 * @param {AnyChance} [from]
 */
function write(n, ledger, from = chance) {
  const x = Array.from({ length: n }, () => new Float64Array(64).fill(1 / 64));
  return agreement.write(3, new Float64Array(192), x, x.map((_, i) => i % 3), ledger, from);
}

test("fewer than b samples are never written", () => {
  assert.equal(write(19, new Ledger()), undefined);
  assert.equal(write(20, new Ledger())?.truth.nTraining, 20);
});

test("the ledger is asked when ε is spent, not only before", () => {
  const event = write(20, new Ledger())?.event;
  assert.ok(event);
  assert.ok(write(20, new Ledger([event])));
  assert.throws(() => write(20, new Ledger([event, event])), LimitReached);
});

test("the noise is that of the event which is approved and booked, and of no other", () => {
  /** @type {unknown[]} */
  const asked = [];
  /** @type {unknown[]} */
  const spent = [];
  class Watched extends Ledger {
    /** @override @param {[any, any]} given */
    require(...given) {
      asked.push(given[0]);
      super.require(...given);
    }
  }
  const watched = {
    below: (/** @type {number} */ n) => chance.below(n),
    token: () => chance.token(),
    addLaplace(/** @type {readonly number[]} */ values, /** @type {Level} */ level) {
      spent.push(level);
      return chance.addLaplace(values, level);
    },
  };
  const event = write(20, new Watched(), watched)?.event;
  assert.equal(asked.length, 1);
  assert.ok(asked[0] === event);
  assert.equal(spent.length, 3);
  spent.forEach((level, i) => assert.ok(level === event?.releases[i]));
});

test("the noise differs from letter to letter, and so does the id", () => {
  const letters = [1, 2].map(() => JSON.parse(new TextDecoder().decode(write(20, new Ledger())?.letter.body)));
  assert.notEqual(letters[0].gradient, letters[1].gradient);
  assert.notEqual(letters[0].id, letters[1].id);
});

/** @param {object} changes */
function accept(changes, termsSha256 = sha256) {
  const zeros = Buffer.from(new Uint8Array(4 * 192)).toString("base64");
  const checkout = { version: 1, state: /** @type {const} */ ("running"), parameters: zeros };
  return agreement.accept({ checkout: { ...checkout, ...changes }, termsSha256 });
}

test("a check-out on other terms, or without sense, is not accepted", () => {
  assert.equal(accept({}).length, 192);
  assert.throws(() => accept({}, "0".repeat(64)), TermsChanged);
  for (const state of ["reached", "exhausted", "stopped"]) {
    assert.throws(() => accept({ state }), (e) => e instanceof Rejected && e.kind === "task-finished");
  }
  assert.throws(() => accept({ state: "paused" }), (e) => e instanceof Rejected && e.kind === "task-paused");
  const nan = Buffer.from(new Float32Array(192).fill(NaN).buffer).toString("base64");
  for (const parameters of ["", "AAAA", "%%%", nan]) {
    assert.throws(() => accept({ parameters }), Unreachable);
  }
});
