/** The end of a task on a page: results come as soon as the server can be reached. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

/** @type {any} */
const world = globalThis;

class Part extends EventTarget {
  textContent = "";
  hidden = false;
  dataset = {};
  replaceChildren() {}
  focus() {}
}
class Form extends Part {}

/** @type {Record<string, any>} */
const parts = {};
const network = { onLine: true };
const page = new EventTarget();
let reachable = false;

world.HTMLElement = Part;
world.HTMLFormElement = Form;
world.document = {
  documentElement: { lang: "en" },
  /** @param {string} id */
  getElementById: (id) =>
    id === "catalogue" ? null : (parts[id] ??= id === "try-form" ? new Form() : new Part()),
  querySelector: () => null,
  querySelectorAll: () => [],
};
world.location = new URL("https://server.example/join/activity");
world.addEventListener = page.addEventListener.bind(page);
Object.defineProperty(world, "navigator", { value: network, configurable: true });
/** @param {unknown} url */
world.fetch = async (url) => {
  if (!reachable) throw new TypeError("no network");
  const stats = { state: "reached", version: 1000, active_devices: 3, error: { value: 0.14, margin: 0.01 } };
  const text = String(url).endsWith("stats") ? JSON.stringify(stats) : "checkins,error,margin\r\n";
  return { ok: true, text: async () => text };
};

const { Ending } = await import("../../../crowdml/web/page/ending.js");
/** @type {any} */
const history = [{ version: 314 }];
const LEARNT = "The crowd’s model has learnt from 1,000 check-ins.";

/** @type {Record<string, any>} */
let kept;
/** @type {any} */
const device = {
  identity: { url: "https://server.example", task: "activity" },
  readKept: async () => kept,
  /** @param {object} more */
  updateKept: async (more) => (kept = { ...kept, ...more }),
  history: async () => history,
};

/** Let everything happen that waits for nothing but answers. */
async function settled() {
  for (let i = 0; i < 100; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

/** @param {boolean} onLine */
async function ended(onLine) {
  network.onLine = onLine;
  const ending = new Ending(device, () => assert.fail("the task goes on"));
  await ending.render(history);
  return ending;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  kept = {};
  reachable = false;
});

test("the results are shown when the network is back", async () => {
  const ending = await ended(false);
  assert.equal(parts["learnt"].textContent, "Asks the server as soon as there is a network.");
  reachable = network.onLine = true;
  page.dispatchEvent(new Event("online"));
  await ending.render(history); // as the page does at the same moment
  await settled();
  assert.equal(parts["learnt"].textContent, LEARNT);
  assert.match(parts["became"].textContent, /check-in 314 of 1,000/);
  assert.equal(kept["results"].version, 1000);
});

test("a server that is down is asked again every minute", async () => {
  await ended(true);
  const waits = "The server cannot be reached. Asks again in a minute.";
  assert.equal(parts["learnt"].textContent, waits);
  mock.timers.tick(60_000);
  await settled();
  assert.equal(parts["learnt"].textContent, waits);
  reachable = true;
  mock.timers.tick(59_000);
  await settled();
  assert.equal(parts["learnt"].textContent, waits);
  mock.timers.tick(1_000);
  await settled();
  assert.equal(parts["learnt"].textContent, LEARNT);
});
