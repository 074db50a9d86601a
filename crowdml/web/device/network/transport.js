/** Connect a device to its server: the interface, and one implementation with fetch. */

import { CrowdmlError, InvalidInput, Rejected, Unreachable } from "../../errors.js";
import { phrase, write } from "../../phrase.js";
import { integer, oneOf, openSection, otherwise, text } from "../../protocol/schema.js";

/** @import { Checkout, Enrol, Phrase, RequestOptions, Rule, Transport } from "../../types.js" */

const TERMS_HEADER = "Crowdml-Terms";
const PROBLEM = "urn:crowdml:problem:";
/** Seconds to wait for the server. */
const TIMEOUT = 10;
const LARGEST_ANSWER = 32 * 2 ** 20;
/** Characters: only the `detail` of a longer problem is shown. */
const LONGEST_PROBLEM = 4096;

/** The most characters of a problem document of this protocol; longer ones are not parsed. */
const LARGEST_PROBLEM = 2 ** 16;

const anyText = text(0, Infinity);
const version = integer(0, Number.MAX_SAFE_INTEGER);
const state = oneOf("running", "paused", "reached", "exhausted", "stopped");

export const TASK = openSection({
  name: anyText,
  title: anyText,
  objective: anyText,
  state,
  enrolment: oneOf("open", "invite"),
  version,
  terms: anyText,
  terms_sha256: anyText,
});
export const ENROLLED = openSection({ device: anyText, token: anyText });
export const CHECKOUT = openSection({
  version,
  state,
  parameters: anyText,
  exported: otherwise(null, anyText),
});
export const CHECKIN_ANSWER = openSection({ version, status: oneOf("applied", "duplicate") });

/** @implements {Transport} */
export class HttpTransport {
  #root;
  #closed = new AbortController();
  /** @type {Map<string, {etag: string | null, checkout: Checkout}>} The newest by their path. */
  #checkedOut = new Map();

  /**
   * @param {string} url The server's root.
   * @param {string} task The task's name.
   */
  constructor(url, task) {
    const { protocol, hostname } = new URL(url);
    if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname))) {
      throw new InvalidInput("plain HTTP is for loopback only, found {url}. Use https.", { url });
    }
    this.#root = `${url}/v1/tasks/${encodeURIComponent(task)}`;
  }

  async task() {
    return decode((await this.#ask("")).body, TASK);
  }

  /** @param {Enrol} message */
  async enrol(message) {
    const ask = { method: "POST", body: JSON.stringify(message) };
    return decode((await this.#ask("/devices", ask)).body, ENROLLED);
  }

  /** @type {Transport["checkout"]} Unchanged parameters are not sent again. */
  async checkout(token, role) {
    const path = role === "evaluate" ? "/model?role=evaluate" : "/model";
    const known = this.#checkedOut.get(path);
    const { status, headers, body } = await this.#ask(path, { token, etag: known?.etag ?? null });
    const checkout = status === 304 && known ? known.checkout : decode(body, CHECKOUT);
    if (status !== 304) this.#checkedOut.set(path, { etag: headers.get("ETag"), checkout });
    const termsSha256 = headers.get(TERMS_HEADER) ?? (await this.task()).terms_sha256;
    return { checkout, termsSha256 };
  }

  /** @type {Transport["checkin"]} */
  async checkin(token, body) {
    return decode((await this.#ask("/checkins", { method: "POST", token, body })).body, CHECKIN_ANSWER);
  }

  /** @param {string} token */
  async leave(token) {
    await this.#ask("/devices/me", { method: "DELETE", token });
  }

  close() {
    this.#closed.abort();
  }

  /**
   * @param {string} path
   * @param {RequestOptions} [ask]
   */
  async #ask(path, { method = "GET", token, body, etag } = {}) {
    const headers = new Headers();
    if (token) headers.set("Authorization", `Bearer ${token}`);
    if (body) headers.set("Content-Type", "application/json");
    if (etag) headers.set("If-None-Match", etag);
    const received = await this.#exchange(this.#root + path, {
      method,
      headers,
      body: body ?? null,
      cache: "no-store",
      credentials: "omit",
      redirect: "error", // A redirect would take the token to another place.
      referrerPolicy: "no-referrer",
    });
    if (received.status < 400) return received;
    const problem = readProblem(received.status, received.body);
    if (received.status < 500) throw problem;
    const { template, values } = problem.phrase;
    throw new Unreachable(template, values, { retryAfter: problem.extra["retry_after"] });
  }

  /**
   * @param {string} url
   * @param {RequestInit} request
   */
  async #exchange(url, request) {
    const stop = new AbortController();
    const end = () => stop.abort();
    const timer = setTimeout(end, TIMEOUT * 1000);
    this.#closed.signal.addEventListener("abort", end);
    try {
      if (this.#closed.signal.aborted) end();
      const response = await fetch(url, { ...request, signal: stop.signal });
      return { status: response.status, headers: response.headers, body: await read(response) };
    } catch (error) {
      if (error instanceof CrowdmlError) throw error;
      // Browsers give a page no more details about a failed request.
      const why = stop.signal.aborted
        ? phrase("no answer in {seconds} s", { seconds: TIMEOUT })
        : phrase("the network has failed, or your browser does not trust its certificate");
      throw new Unreachable("cannot reach the server: {why}.", { why }, { cause: error });
    } finally {
      clearTimeout(timer);
      this.#closed.signal.removeEventListener("abort", end);
    }
  }
}

/** @param {Response} response */
async function read(response) {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let body = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    body += decoder.decode(part.value, { stream: true });
    if (body.length > LARGEST_ANSWER) {
      await reader?.cancel();
      throw new Unreachable("an answer may have at most {n} characters.", { n: LARGEST_ANSWER });
    }
  }
  return body + decoder.decode();
}

/** @type {<T>(body: string, rule: Rule<T>) => T} */
function decode(body, rule) {
  try {
    return rule(JSON.parse(body), "");
  } catch (error) {
    throw nonsense(error instanceof InvalidInput ? error.phrase : phrase("it is not JSON."), error);
  }
}

/** @type {(why: Phrase, cause: unknown) => Unreachable} */
export function nonsense(why, cause) {
  return new Unreachable("the server's answer makes no sense: {why}", { why }, { cause });
}

/**
 * Return the error in an answer; of kind `unknown` if it is not a problem of this protocol.
 *
 * @type {(status: number, body: string) => Rejected}
 */
function readProblem(status, body) {
  /** @type {any} */
  let document = {};
  try {
    const parsed = JSON.parse(body.length <= LARGEST_PROBLEM ? body : "{}");
    if (typeof parsed === "object" && parsed !== null) document = parsed;
  } catch {
    // A proxy in between may answer in its own format.
  }
  const { type, detail, template, values, ...extra } = document;
  const own = typeof type === "string" && type.startsWith(PROBLEM);
  const kind = (own && type.slice(PROBLEM.length)) || "unknown";
  let sentence = phrase("the server answered with status {status}", { status });
  if (detail != null) sentence = phrase(String(detail));
  if (body.length <= LONGEST_PROBLEM && isPhrase(document)) {
    const said = phrase(template, values);
    // A server must not be able to show one thing in English and another in German.
    if (write(said) === detail) sentence = said;
  }
  return new Rejected(kind, status, sentence, extra);
}

/**
 * Decide whether there is a template whose values are texts, finite numbers or phrases.
 *
 * @param {any} found
 * @returns {boolean}
 */
function isPhrase(found, depth = 4) {
  const fits = (/** @type {unknown} */ value) =>
    typeof value === "string" || Number.isFinite(value) || isPhrase(value, depth - 1);
  if (!(depth > 0 && typeof found?.template === "string")) return false;
  // Allow each name once: nested phrases would otherwise multiply.
  const names = found.template.match(/\{\w*\}/g) ?? [];
  return new Set(names).size === names.length && Object.values(found.values ?? [{}]).every(fits);
}

/**
 * Return the server's root as an absolute address; by default where this module came from.
 *
 * @param {string} [url]
 */
export function serverRoot(url = new URL("../../..", import.meta.url).href) {
  try {
    const { origin, pathname } = new URL(url, globalThis.location?.href);
    return origin + pathname.replace(/\/+$/, "");
  } catch (error) {
    throw new InvalidInput("a server URL must be https://host:port, found {url}.", { url }, {
      cause: error,
    });
  }
}

/** @param {string} host */
function isLoopback(host) {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);
}
