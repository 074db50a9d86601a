/** Run one action at a time: in all tabs of a browser, or at least in one tab. */

/** @type {Map<string, Promise<unknown>>} */
const queues = new Map();

/**
 * Run an action while no other action runs under the same name.
 *
 * This keeps two tabs from sending one check-in at the same time; the store's transactions rule out
 * everything that must never happen.
 *
 * @type {<T>(name: string, action: () => Promise<T>) => Promise<T>}
 */
export async function withLock(name, action) {
  if (globalThis.navigator?.locks) return await navigator.locks.request(name, action);
  const turn = (queues.get(name) ?? Promise.resolve()).then(action);
  queues.set(name, turn.catch(() => undefined));
  return await turn;
}
