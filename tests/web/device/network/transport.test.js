/** Check the transport with a real HTTP server on loopback. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, beforeEach, test } from "node:test";

import { HttpTransport, InvalidInput, Rejected, Unreachable, serverRoot } from "../../../../crowdml/web/index.js";

const TERMS = "a".repeat(64);
const TASK = { name: "t", title: "T", objective: "o", state: "running", enrolment: "open",
  version: 3, terms: "{}", terms_sha256: TERMS, another: "field" }; // prettier-ignore
const MODEL = { version: 3, state: "running", parameters: "AAAAAA==" };

/** @typedef {{status?: number, headers?: Record<string, string>, body?: string, fault?: string}} Reply */

/** @type {{method: string, url: string, headers: import("node:http").IncomingHttpHeaders, body: string}[]} */
const asked = [];
/** @type {Reply[]} */
let replies = [];

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { method = "", url = "", headers } = request;
  asked.push({ method, url, headers, body });
  const reply = replies.shift() ?? {};
  if (reply.fault === "drop") return void request.socket.destroy();
  if (reply.fault === "silence") return;
  response.writeHead(reply.status ?? 200, reply.headers);
  if (reply.fault === "stall") return void response.write('{"version');
  if (reply.fault === "cut") {
    response.write('{"version');
    return void setTimeout(() => request.socket.destroy(), 20);
  }
  response.end(reply.body ?? "");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
const address = /** @type {import("node:net").AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${address.port}`;
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked.length = 0;
  replies = [];
});

/** @param {unknown} document */
const json = (document, headers = {}, status = 200) =>
  ({ status, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(document) }); // prettier-ignore

const transport = () => new HttpTransport(url, "a task");
const body = new TextEncoder().encode('{"id":"x"}');

test("the five calls", async () => {
  const calls = transport();
  replies = [json(TASK), json({ device: "d", token: "s" }, {}, 201),
    json({ version: 4, status: "applied" }), { status: 204 }]; // prettier-ignore
  assert.equal((await calls.task()).terms_sha256, TERMS);
  assert.deepEqual({ ...(await calls.enrol({ terms: TERMS, invite: "i" })) }, { device: "d", token: "s" });
  assert.equal((await calls.checkin("s", body)).status, "applied");
  await calls.leave("s");
  assert.deepEqual(
    asked.map(({ method, url, body }) => [method, url, body]),
    [
      ["GET", "/v1/tasks/a%20task", ""],
      ["POST", "/v1/tasks/a%20task/devices", `{"terms":"${TERMS}","invite":"i"}`],
      ["POST", "/v1/tasks/a%20task/checkins", '{"id":"x"}'],
      ["DELETE", "/v1/tasks/a%20task/devices/me", ""],
    ],
  );
  assert.deepEqual(
    asked.map(({ headers }) => headers.authorization),
    [undefined, undefined, "Bearer s", "Bearer s"],
  );
});

test("an unchanged model is not sent again", async () => {
  const calls = transport();
  const headers = { ETag: '"3"', "Crowdml-Terms": TERMS };
  replies = [json(MODEL, headers), { status: 304, headers: { ...headers, "Crowdml-Terms": "b" } },
    json({ ...MODEL, version: 4 }, { ...headers, ETag: '"4"' }), { status: 304, headers }]; // prettier-ignore
  const first = await calls.checkout("s");
  const second = await calls.checkout("s");
  const third = await calls.checkout("s");
  const fourth = await calls.checkout("s");
  assert.deepEqual(asked.map((ask) => ask.headers["if-none-match"]), [undefined, '"3"', '"3"', '"4"']);
  assert.deepEqual([first.termsSha256, second.termsSha256], [TERMS, "b"], "terms of now, on 304 too");
  assert.equal(second.checkout, first.checkout);
  assert.deepEqual([third.checkout.version, fourth.checkout.version], [4, 4]);
});

test("without the header the task's description says which terms are in force", async () => {
  replies = [json(MODEL, { ETag: '"3"' }), json(TASK)];
  assert.equal((await transport().checkout("s")).termsSha256, TERMS);
});

test("a rejection is a Rejected with its kind", async () => {
  const problem = { type: "urn:crowdml:problem:too-frequent", title: "T", status: 429, detail: "slowly", retry_after: 2.5 };
  replies = [json(problem, {}, 429), { status: 404, body: "<html>" }, { status: 403, body: "[1]" }];
  /** @type {any[]} */
  const kinds = [];
  for (let i = 0; i < 3; i++) {
    kinds.push(await transport().checkin("s", body).catch((error) => error));
  }
  assert.ok(kinds.every((error) => error instanceof Rejected));
  assert.deepEqual(kinds.map((error) => error.kind), ["too-frequent", "unknown", "unknown"]);
  assert.equal(kinds[0]?.message, "slowly");
  assert.equal(kinds[0]?.extra["retry_after"], 2.5);
});

const NESTED = { template: "found {what}", values: { what: "x" } };
/** @type {(depth: number) => unknown} */
const nested = (depth) => (depth ? { template: "{in}", values: { in: nested(depth - 1) } } : NESTED);
const SAID = { template: "at most {n}, {why}.", values: { n: 1200, why: NESTED } };

/** @type {[string, object, object][]} What a problem says beside "slowly", and what is read of it. */
const SENTENCES = [
  ["a phrase", { ...SAID, detail: "at most 1,200, found x." }, SAID],
  ["a phrase that says something else", SAID, { template: "slowly", values: {} }],
  [
    "a name twice",
    { template: "{n} {n}", values: { n: 1 }, detail: "1 1" },
    { template: "1 1", values: {} },
  ],
  ["no phrase", {}, { template: "slowly", values: {} }],
  ["no values", { template: "a" }, { template: "slowly", values: {} }],
  ["no template", { values: {} }, { template: "slowly", values: {} }],
  ["null", { template: "a", values: null }, { template: "slowly", values: {} }],
  ["a list in it", { template: "{n}", values: { n: [1] }, detail: "1" }, { template: "1", values: {} }],
  ["true", { template: "a", values: { n: true } }, { template: "slowly", values: {} }],
  ["a number for a template", { template: 1, values: {} }, { template: "slowly", values: {} }],
  ["too deep", { template: "{n}", values: { n: nested(9) }, detail: "found x" }, { template: "found x", values: {} }],
  ["too long", { template: "a".repeat(5000), values: {} }, { template: "slowly", values: {} }],
];
for (const [name, members, read] of SENTENCES) {
  test(`a problem with ${name}`, async () => {
    const problem = { type: "urn:crowdml:problem:revoked", detail: "slowly", ...members };
    replies = [json(problem, {}, 403), json(problem, {}, 503)];
    const rejected = await transport().checkin("s", body).catch((error) => error);
    assert.ok(rejected instanceof Rejected);
    assert.deepEqual(rejected.phrase, read);
    assert.deepEqual(rejected.extra, {});
    const failed = await transport().checkin("s", body).catch((error) => error);
    assert.ok(failed instanceof Unreachable);
    assert.deepEqual(failed.phrase, read);
  });
}

/** @type {[string, Reply][]} */
const FAILURES = [
  ["a dropped connection", { fault: "drop" }],
  ["silence", { fault: "silence" }],
  ["an answer that stalls", { fault: "stall" }],
  ["an answer that is cut", { fault: "cut" }],
  ["status 503", json({ type: "urn:crowdml:problem:unavailable", detail: "full" }, {}, 503)],
  ["status 500", { status: 500, body: "oops" }],
  ["no JSON", { body: "hello" }],
  ["an empty answer", {}],
  ["a wrong shape", json({ version: -1, status: "applied" })],
  ["an unknown status", json({ version: 1, status: "maybe" })],
  ["a redirect", { status: 307, headers: { Location: "http://127.0.0.1:9/elsewhere" } }],
];

for (const [name, reply] of FAILURES) {
  test(`${name} is Unreachable`, async (context) => {
    replies = [reply];
    const later = setTimeout;
    if (reply.fault === "silence" || reply.fault === "stall") {
      context.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ end) => later(end, 300));
    }
    await assert.rejects(transport().checkin("s", body), Unreachable);
  });
}

test("no server listens", async () => {
  await assert.rejects(new HttpTransport("http://127.0.0.1:9", "t").task(), Unreachable);
});

test("closing ends what is under way", async () => {
  replies = [{ fault: "silence" }];
  const calls = transport();
  const pending = assert.rejects(calls.task(), Unreachable);
  setTimeout(() => calls.close(), 30);
  await pending;
  await assert.rejects(calls.task(), Unreachable);
});

test("tokens travel by https, or on this machine", () => {
  assert.throws(() => new HttpTransport("http://crowd.example", "t"), InvalidInput);
  assert.throws(() => new HttpTransport("ftp://crowd.example", "t"), InvalidInput);
  for (const root of ["https://crowd.example", "http://localhost:1", "http://[::1]:1"]) {
    new HttpTransport(root, "t");
  }
});

test("the server's root", () => {
  assert.equal(serverRoot("https://crowd.example:8443/"), "https://crowd.example:8443");
  assert.equal(serverRoot("https://crowd.example/sub//"), "https://crowd.example/sub");
  assert.throws(() => serverRoot("not a place"), InvalidInput);
});
