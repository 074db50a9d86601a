/** Check what an agreement rejects, whatever a server or a caller asks for. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  Agreement,
  Chance,
  DeviceError,
  Ledger,
  LimitReached,
  Rejected,
  TermsChanged,
  Unreachable,
} from "../../../crowdml/web/index.js";
import { DirectionMechanism } from "../../../crowdml/web/privacy/direction_mechanism.js";
import { vectors } from "../vectors.js";

/** @import { Chance as AnyChance, NoiseAmount, NoiseEvent } from "../../../crowdml/web/types.js" */

const TERMS = vectors("terms").map(({ output }) => output);
const { text, sha256 } = TERMS[0] ?? {};
const agreement = await agree(text, { perSample: 1, perDevice: 2 });
const chance = new Chance();

/**
 * @param {string} terms
 * @param {{perSample: number, perDevice: number}} limits
 */
function agree(terms, limits) {
  return Agreement.of({ device: "ana", terms, limits });
}

/**
 * @param {number} n
 * @param {Ledger} ledger
 * @param {AnyChance} [from]
 * @param {Agreement} [by]
 * @param {Ledger} [asked] For the place.
 */
async function write(n, ledger, from = chance, by = agreement, asked = ledger) {
  const x = Array.from({ length: n }, () => new Float64Array(64).fill(1 / 64));
  const y = x.map((_, i) => i % 3);
  const approval = await by.approve(asked, x.length);
  const parameters = { w: new Float64Array(192), exported: null };
  return by.write(approval, 3, parameters, x, y, ledger, from);
}

test("fewer than b samples are never written", async () => {
  assert.equal(await write(19, new Ledger()), undefined);
  assert.ok(await write(20, new Ledger()));
});

test("the ledger is asked when ε is spent, not only before", async () => {
  const event = (await write(20, new Ledger()))?.event;
  assert.ok(event);
  assert.ok(await write(20, new Ledger([event])));
  await assert.rejects(write(20, new Ledger([event, event])), LimitReached);
});

test("a check-in is written at its own place only, and not beyond the last one", async () => {
  const described = TERMS.find(({ text }) => JSON.parse(text).collection.checkins === 4);
  const four = await agree(described.text, { perSample: Infinity, perDevice: Infinity });
  let ledger = new Ledger();
  for (const number of [1, 2, 3, 4]) {
    assert.equal(four.fulfilled(ledger), false);
    const written = await write(20, ledger, chance, four);
    assert.ok(written);
    const text = new TextDecoder().decode(written.checkin.body);
    const { id, version, terms, ...payload } = JSON.parse(text);
    assert.deepEqual([id, version, terms], [written.checkin.id, 3, described.sha256]);
    assert.equal(Object.keys(payload).length, 2, "nothing but its number and one other");
    assert.equal(payload.number, number);
    ledger = ledger.charge(written.event);
    const stale = await write(20, ledger, chance, four, new Ledger());
    assert.equal(stale, undefined, "another was written meanwhile");
  }
  assert.equal(four.fulfilled(ledger), true);
  assert.equal(await write(20, ledger, chance, four), undefined);
});

test("the noise belongs to the event that is approved and booked", async () => {
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
    randomId: () => chance.randomId(),
    addLaplace(/** @type {readonly number[]} */ values, /** @type {NoiseAmount} */ amount) {
      spent.push(amount);
      return chance.addLaplace(values, amount);
    },
    addGaussian: () => [],
  };
  const written = await write(20, new Watched(), watched);
  const event = /** @type {NoiseEvent} */ (written?.event);
  assert.equal(asked.length, 1);
  assert.ok(event.kind === "noise" && asked[0] === event);
  assert.equal(spent.length, 3);
  spent.forEach((amount, i) => assert.ok(amount === event.releases[i]));
});

test("the event of a check-in is made once, and spent as it is", async (context) => {
  const described = TERMS.find(({ text }) => JSON.parse(text).collection.checkins === 4);
  const made = context.mock.method(DirectionMechanism.prototype, "event");
  const four = await agree(described.text, { perSample: Infinity, perDevice: Infinity });
  const written = await write(20, new Ledger(), chance, four);
  assert.equal(made.mock.callCount(), 1);
  assert.ok(written && written.event === made.mock.calls[0]?.result);
});

test("a check-in that no mechanism reads is not free", async () => {
  const event = /** @type {NoiseEvent} */ ((await write(20, new Ledger()))?.event);
  const { kind, ...untagged } = event;
  for (const other of [untagged, { ...event, kind: "noisy" }]) {
    const ledger = new Ledger([/** @type {NoiseEvent} */ (other)]);
    const rejected = (/** @type {unknown} */ error) =>
      error instanceof DeviceError && /known kind, found (nothing|noisy). Nothing more/.test(error.message);
    assert.throws(() => ledger.epsilonSpent, rejected);
    assert.throws(() => ledger.epsilonPerSample, rejected);
    assert.throws(() => ledger.epsilonPerPerson, rejected);
    await assert.rejects(write(20, ledger), rejected);
  }
});

test("each check-in has its own noise and its own id", async () => {
  const written = [await write(20, new Ledger()), await write(20, new Ledger())];
  const messages = written.map((each) => JSON.parse(new TextDecoder().decode(each?.checkin.body)));
  assert.notEqual(messages[0].gradient, messages[1].gradient);
  assert.notEqual(messages[0].id, messages[1].id);
});

/** @param {object} changes */
function accept(changes, termsSha256 = sha256) {
  const zeros = Buffer.from(new Uint8Array(4 * 192)).toString("base64");
  const state = /** @type {const} */ ("running");
  const checkout = { version: 1, state, parameters: zeros, exported: null };
  return agreement.accept({ checkout: { ...checkout, ...changes }, termsSha256 });
}

test("a check-out on other terms, or without sense, is not accepted", async () => {
  assert.equal((await accept({})).w.length, 192);
  assert.equal((await accept({})).exported, null);
  await assert.rejects(accept({}, "0".repeat(64)), TermsChanged);
  for (const state of ["reached", "exhausted", "stopped"]) {
    await assert.rejects(accept({ state }), (e) => e instanceof Rejected && e.kind === "task-finished");
  }
  await assert.rejects(accept({ state: "paused" }), (e) => e instanceof Rejected && e.kind === "task-paused");
  const nan = Buffer.from(new Float32Array(192).fill(NaN).buffer).toString("base64");
  for (const parameters of ["", "AAAA", "%%%", nan]) {
    await assert.rejects(accept({ parameters }), Unreachable);
    await assert.rejects(accept({ exported: parameters }), Unreachable);
  }
});

test("version 0 must be the start of the terms, later versions are what the crowd made of it", async () => {
  const w = Buffer.from(Float32Array.from({ length: 192 }, (_, j) => j / 7).buffer);
  const hash = createHash("sha256").update(w).digest("hex");
  const document = JSON.parse(text);
  document.model.start = { sha256: hash, rows: 200, people: 4, words: "our own rooms" };
  const started = await agree(JSON.stringify(document), { perSample: 1, perDevice: 2 });
  const { termsSha256 } = started;
  const take = (/** @type {number} */ version, /** @type {Buffer} */ bytes) => {
    const state = /** @type {const} */ ("running");
    const checkout = { version, state, parameters: bytes.toString("base64"), exported: null };
    return started.accept({ checkout, termsSha256 });
  };
  assert.equal((await take(0, w)).w[7], 1);
  const zeros = Buffer.alloc(4 * 192);
  await assert.rejects(take(0, zeros), (error) =>
    error instanceof Unreachable && error.message.includes(`must be the start that the terms name, ${hash}, found `));
  assert.equal((await take(1, zeros)).w.length, 192);
  assert.equal((await accept({ version: 0 })).w.length, 192, "there is no start to compare with");
});
