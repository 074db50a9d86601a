/** Serve the page without a network: its files by their hashes, pages as they were last seen. */

const PREFIX = "crowdml files ";
const PAGES = "crowdml pages";
const PATIENCE_MS = 4000;
/** The path under which the server is reached. */
const ROOT = new URL("..", location.href).pathname;

/** The worker's global scope, which the types of pages do not know. */
const scope = /** @type {any} */ (globalThis);

/** The name of the cache whose files this worker has checked. */
let checked = "";

scope.oninstall = (/** @type {any} */ event) => {
  event.waitUntil(Promise.all([refresh(), scope.skipWaiting()]));
};

scope.onactivate = (/** @type {any} */ event) => event.waitUntil(scope.clients.claim());

/** Keep a page that was loaded before this worker ran, when the page asks for it. */
scope.onmessage = (/** @type {any} */ event) => {
  if (event.source) event.waitUntil(keep(plain(event.source.url)));
};

scope.onfetch = (/** @type {any} */ event) => {
  const request = /** @type {Request} */ (event.request);
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin || request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(page(request));
  else if (isFile(pathname)) event.respondWith(file(request));
};

/**
 * Get the page from the server, with files of the same version; the kept page if that takes long.
 *
 * @param {Request} request
 */
async function page(request) {
  const pages = await caches.open(PAGES);
  try {
    const late = AbortSignal.timeout(PATIENCE_MS);
    // Ask as a browser does for a page, so that an error is a page for people.
    const headers = { accept: request.headers.get("accept") ?? "text/html" };
    const asked = fetch(request.url, { headers, signal: late });
    const [answer] = await Promise.all([asked, refresh(late)]);
    if (answer.status >= 500) throw new Error(answer.statusText);
    if (answer.ok) await pages.put(plain(request.url), answer.clone());
    return answer;
  } catch {
    return (await pages.match(plain(request.url))) ?? fetch(request.url);
  }
}

/** @param {string} path */
function isFile(path) {
  return path.startsWith(`${ROOT}web/`) || path.startsWith(`${ROOT}static/`);
}

/** @param {Request} request */
async function file(request) {
  const own = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  for (const name of own) {
    const kept = await (await caches.open(name)).match(request, { ignoreSearch: true });
    if (kept) return kept;
  }
  return fetch(request);
}

/**
 * Keep all files in a cache named by their hashes, and delete other caches. Each worker checks the
 * cache once: a file that does not have its hash is fetched again, since another program of this site
 * may have written it.
 *
 * @param {AbortSignal} [signal]
 */
async function refresh(signal) {
  const tags = await (await ask(`${ROOT}join/files.json`, signal)).json();
  const name = PREFIX + (await digest(encode(JSON.stringify(tags)))).slice(0, 16);
  if (checked === name && (await caches.has(name))) return;
  const known = (await caches.has(name)) ? await caches.open(name) : null;
  const missing = await Promise.all(
    Object.entries(tags).map(async ([path, tag]) => {
      const kept = await known?.match(path);
      if (kept && (await has(kept, tag))) return null;
      // With the page's own address, so that the browser reuses what it has loaded.
      const file = await ask(`${path}?${tag.slice(1, 9)}`, signal);
      return (await has(file.clone(), tag)) ? { path, file } : Promise.reject(new Error(path));
    }),
  );
  const cache = await caches.open(name);
  for (const found of missing) if (found) await cache.put(found.path, found.file);
  for (const old of await caches.keys()) {
    if (old.startsWith(PREFIX) && old !== name) await caches.delete(old);
  }
  checked = name;
}

/**
 * @param {Response} file
 * @param {string} tag Starts with the hash of the file's contents, in quotes.
 */
async function has(file, tag) {
  const hash = await digest(await file.arrayBuffer());
  return tag.length > 16 && `"${hash}"`.startsWith(tag.slice(0, -1));
}

/** @type {(path: string, signal?: AbortSignal) => Promise<Response>} */
async function ask(path, signal) {
  const response = await fetch(path, { cache: "no-cache", signal: signal ?? null });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

/** @param {string} url */
async function keep(url) {
  const pages = await caches.open(PAGES);
  if (!(await pages.match(url))) await pages.add(url);
}

/** @param {string} url */
function plain(url) {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** @param {BufferSource} bytes */
async function digest(bytes) {
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} text */
function encode(text) {
  return new TextEncoder().encode(text);
}
