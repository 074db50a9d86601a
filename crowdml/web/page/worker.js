/** The page without a network: files by their tags, pages as they were last seen. */

const PREFIX = "crowdml files ";
const PAGES = "crowdml pages";
const PATIENCE = 4000;
/** All of the server is under this path. */
const ROOT = new URL("..", location.href).pathname;

/** Unknown to the types of pages. */
const scope = /** @type {any} */ (globalThis);

scope.oninstall = (/** @type {any} */ event) => {
  event.waitUntil(Promise.all([refresh(), keepOpenPages(), scope.skipWaiting()]));
};

scope.onactivate = (/** @type {any} */ event) => event.waitUntil(scope.clients.claim());

scope.onfetch = (/** @type {any} */ event) => {
  const request = /** @type {Request} */ (event.request);
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin || request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(page(request));
  else if (isFile(pathname)) event.respondWith(file(request));
};

/**
 * From the server, with the files of the same moment; the kept page if that takes long.
 *
 * @param {Request} request
 */
async function page(request) {
  const pages = await caches.open(PAGES);
  try {
    const late = AbortSignal.timeout(PATIENCE);
    // As a page: what is not there is told to a person, not to a program.
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
  return (await caches.match(request, { ignoreSearch: true })) ?? fetch(request);
}

/**
 * Keep all files under a name made of their tags, and no others.
 *
 * @param {AbortSignal} [signal]
 */
async function refresh(signal) {
  const tags = await (await ask(`${ROOT}join/files.json`, signal)).json();
  const name = PREFIX + (await digest(JSON.stringify(tags)));
  if (!(await caches.has(name))) {
    const all = await Promise.all(
      Object.keys(tags).map(async (path) => ({ path, file: await ask(path, signal) })),
    );
    const cache = await caches.open(name);
    for (const { path, file } of all) await cache.put(path, file);
  }
  for (const old of await caches.keys()) {
    if (old.startsWith(PREFIX) && old !== name) await caches.delete(old);
  }
}

/** @type {(path: string, signal?: AbortSignal) => Promise<Response>} */
async function ask(path, signal) {
  const response = await fetch(path, { cache: "no-cache", signal: signal ?? null });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

async function keepOpenPages() {
  /** @type {{url: string}[]} */
  const open = await scope.clients.matchAll({ includeUncontrolled: true });
  const pages = await caches.open(PAGES);
  await pages.addAll(open.map(({ url }) => plain(url)).filter((url) => url.includes("/join/")));
}

/** @param {string} url */
function plain(url) {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** @param {string} text */
async function digest(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes, 0, 8), (byte) => byte.toString(16)).join("");
}
