/** Check sentences in English and in another language, with numbers and sentences in them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidInput, phrase, write } from "../../crowdml/web/index.js";
import { translator, unbroken } from "../../crowdml/web/page/translate.js";

const GERMAN = new Map([
  ["{n} samples, found {found}.", "{found} statt {n} Proben."],
  ["none", "keine"],
]);

test("values are texts, numbers and phrases", () => {
  const found = phrase("{n} samples, found {found}.", { n: 12000, found: phrase("none") });
  assert.equal(write(found), "12,000 samples, found none.");
  assert.equal(write(found, translator(GERMAN, "de"), "de"), "keine statt 12.000 Proben.");
  const text = phrase("{n} samples, found {found}.", { n: 2 / 3, found: "none" });
  assert.equal(write(text), "0.666667 samples, found none.");
  assert.equal(write(text, translator(GERMAN, "de"), "de"), "none statt 0,666667 Proben.");
});

test("the words for a number are those of the language", () => {
  const french = new Map([["{n} samples", { one: "{n} exemple", other: "{n} exemples" }]]);
  /** @param {number | string} n */
  const samples = (n) => write(phrase("{n} samples", { n }), translator(french, "fr"), "fr");
  assert.deepEqual([0, 1, 2, 1e6, 0.5, "1"].map(samples), [
    "0 exemple",
    "1 exemple",
    "2 exemples",
    "1\u202f000\u202f000 exemples",
    "0,5 exemples",
    "1 exemples",
  ]);
});

test("a number and its sign stay on one line", () => {
  const kept = "21\u00a0±\u00a03 of 50\u00a0%, ε\u00a0=\u00a04";
  assert.equal(unbroken("21 ± 3 of 50 %, ε = 4"), kept);
  assert.equal(unbroken("a SHA-256, lower-case"), "a SHA\u2011256, lower-case");
});

test("what is not known stays as it is", () => {
  assert.equal(write(phrase("{n} of {n}", { n: Infinity })), "∞ of ∞");
  assert.equal(write(phrase("left {over}"), translator(GERMAN, "de"), "de"), "left {over}");
  assert.equal(write(phrase("{__proto__} {constructor}")), "{__proto__} {constructor}");
  assert.equal(write(phrase("constructor"), translator(GERMAN, "de"), "de"), "constructor");
  assert.equal(write(phrase("{a}", { a: "{b}", b: "$&" })), "{b}", "a value is not a template");
});

test("an error is a phrase, in English its message", () => {
  const cause = new Error("why");
  const error = new InvalidInput("{n} is too much.", { n: 1000 }, { cause });
  assert.deepEqual([error.message, error.name, error.cause], ["1,000 is too much.", "InvalidInput", cause]);
  assert.deepEqual(structuredClone(error.phrase), { template: "{n} is too much.", values: { n: 1000 } });
});
