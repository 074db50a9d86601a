/** Add a mechanism as CONTRIBUTING.md says: it is registered once, and known everywhere. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  Agreement,
  Chance,
  InvalidInput,
  InvalidTask,
  Ledger,
  LimitReached,
  MECHANISMS,
  Terms,
  eventKindOf,
  limitsOf,
  lossOf,
  checkinKeyOf,
  wholeLossOf,
  write,
} from "../../crowdml/web/index.js";
import { GivenChance, vectors } from "./vectors.js";

const MODULE = "crowdml/web/mechanisms/sign.js";

/** Import the module that a contributor writes, as if it were beside the others. */
async function contributed() {
  const text = readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");
  const block = text.split(`Write \`${MODULE}\`:`)[1]?.split("```js\n")[1]?.split("   ```\n")[0];
  const there = new URL(`../../${MODULE}`, import.meta.url);
  const code = (block ?? "").replaceAll(
    /from "(\.[^"]*)"/g,
    (_, file) => `from "${new URL(file, there)}"`,
  );
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const { SIGN } = await contributed();
const TRUTHFUL = "0";
const CHECKINS = 4;
const SIZE = 192;
const w = new Float64Array(SIZE);
const text = terms({});

/** @param {{privacy?: object, collection?: object, model?: object}} changes */
function terms({ privacy, collection, model }) {
  const known = vectors("terms")
    .map(({ output }) => JSON.parse(output.text))
    .find(({ privacy }) => privacy.mechanism === "direction");
  const shares = { checkins: CHECKINS, evaluators: 0, counters: 0 };
  return JSON.stringify({
    ...known,
    model: { ...known.model, ...model },
    privacy: { mechanism: "sign", epsilon: 6, ...privacy },
    collection: { ...known.collection, ...shares, ...collection },
  });
}

// Names are read when terms are parsed, so a page may register a kind at any time before.
assert.throws(() => Terms.parse(text), /must be one of direction, gaussian, laplace, found "sign"/);
MECHANISMS["sign"] = SIGN;

const agreement = await Agreement.of({ device: "ana", terms: text, limits: limitsOf(Terms.parse(text)) });

/**
 * Twenty samples, all of them long and alike.
 *
 * @param {Ledger} ledger
 * @param {Chance | GivenChance} [chance]
 */
async function checkIn(ledger, chance = new Chance()) {
  const x = Array.from({ length: 20 }, () => new Float64Array(64).fill(1 / 8));
  const approval = await agreement.approve(ledger, x.length);
  const written = agreement.write(approval, 3, { w, exported: null }, x, x.map(() => 1), ledger, chance);
  assert.ok(written);
  const message = JSON.parse(new TextDecoder().decode(written.checkin.body));
  return { ...written, message };
}

test("its terms are parsed, and others are rejected", () => {
  const { privacy, loss, mostCheckins } = Terms.parse(text);
  assert.deepEqual(privacy, { mechanism: "sign", epsilon: 6 });
  assert.deepEqual([loss.total, mostCheckins], [6 / CHECKINS, CHECKINS]);
  for (const wrong of [
    { privacy: { directions: 8 } },
    { privacy: { epsilon: "inf" } },
    { collection: { checkins: null } },
    { collection: { evaluators: 0.1 } },
    { collection: { heldout: 0.1 } },
    { model: { clip: 1 } },
  ]) {
    assert.throws(() => Terms.parse(terms(wrong)), InvalidTask, JSON.stringify(wrong));
  }
});

test("the ledger charges it until ε is spent", async () => {
  let ledger = new Ledger();
  for (let n = 1; n <= CHECKINS; n++) {
    const { event } = await checkIn(ledger);
    assert.equal(lossOf(event).total, 6 / CHECKINS);
    assert.equal(wholeLossOf(event).total, 6 / CHECKINS);
    ledger = ledger.charge(event);
    assert.equal(ledger.epsilonSpent, (n * 6) / CHECKINS);
  }
  assert.ok(agreement.fulfilled(ledger));
  await assert.rejects(checkIn(ledger), LimitReached);
});

test("an event of another check-in is not spent", async () => {
  const { event } = await checkIn(new Ledger());
  const terms = Terms.parse(text);
  const place = await checkinKeyOf(agreement.termsSha256, "ana", 2);
  const minibatch = /** @type {any} */ (undefined);
  assert.throws(() => terms.mechanism().makePayload(minibatch, event, place, new Chance()), InvalidInput);
});

test("the promise has its sentences", () => {
  const promise = Terms.parse(text).promise();
  const { mechanism, whom, directions, numbers, roles, epsilonPerPerson } = promise;
  assert.deepEqual([mechanism, whom, directions, numbers, roles], ["sign", "person", 0, 1, []]);
  assert.equal(epsilonPerPerson, 6);
  assert.deepEqual(promise.whatLeaves.map((sentence) => write(sentence)), [
    "Your readings never leave your device. When it has 20 samples, it sends one message, a check-in.",
    "It stops after 4 check-ins.",
    "It sends one sign: which way one number of the model should move.",
    "What is sent is changed at random, but so little that a guess about you can become nearly certain.",
  ]);
});

test("the list of what was sent has its rows", async () => {
  const { event, message, truth } = await checkIn(new Ledger(), new GivenChance({}, [0, TRUTHFUL, 0]));
  const { summary, shown } = eventKindOf(event);
  assert.equal(write(summary(event)), "one sign");
  const { rows, probabilities } = shown(message, truth, agreement.terms.target.labels);
  const { coordinate, u } = /** @type {any} */ (truth);
  assert.deepEqual(rows, [[{ template: "number {n}", values: { n: coordinate + 1 } }, u, "+"]]);
  assert.ok(probabilities);
  const { unlikely, probability, likely } = probabilities;
  assert.ok(unlikely <= probability && probability <= likely);
});
