/** Sentences: in English, in another language, with numbers and sentences in them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidInput, phrase, write } from "../../crowdml/web/index.js";

const GERMAN = new Map([
  ["{n} samples, found {found}.", "{found} statt {n} Proben."],
  ["none", "keine"],
]);

test("values are texts, numbers and phrases", () => {
  const found = phrase("{n} samples, found {found}.", { n: 12000, found: phrase("none") });
  assert.equal(write(found), "12,000 samples, found none.");
  assert.equal(write(found, GERMAN, "de"), "keine statt 12.000 Proben.");
  const text = phrase("{n} samples, found {found}.", { n: 2 / 3, found: "none" });
  assert.equal(write(text), "0.666667 samples, found none.");
  assert.equal(write(text, GERMAN, "de"), "none statt 0,666667 Proben.");
});

test("what is not known stays as it is", () => {
  assert.equal(write(phrase("{n} of {n}", { n: Infinity })), "∞ of ∞");
  assert.equal(write(phrase("left {over}"), GERMAN, "de"), "left {over}");
  assert.equal(write(phrase("{__proto__} {constructor}")), "{__proto__} {constructor}");
  assert.equal(write(phrase("constructor"), GERMAN, "de"), "constructor");
  assert.equal(write(phrase("{a}", { a: "{b}", b: "$&" })), "{b}", "a value is no template");
});

test("an error is a phrase, in English its message", () => {
  const cause = new Error("why");
  const error = new InvalidInput("{n} is too much.", { n: 1000 }, { cause });
  assert.deepEqual([error.message, error.name, error.cause], ["1,000 is too much.", "InvalidInput", cause]);
  assert.deepEqual(structuredClone(error.phrase), { template: "{n} is too much.", values: { n: 1000 } });
});
