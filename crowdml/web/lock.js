/** One at a time: in all tabs of a browser, or at least in this one. */

/** @type {Map<string, Promise<unknown>>} */
const queues = new Map();

/**
 * Run an action while nobody else runs one under the same name.
 *
 * This keeps two tabs from sending one check-in at the same time; what must not happen at all is
 * ruled out by the store's transactions.
 *
 * @type {<T>(name: string, action: () => Promise<T>) => Promise<T>}
 */
export async function alone(name, action) {
  if (globalThis.navigator?.locks) return await navigator.locks.request(name, action);
  const turn = (queues.get(name) ?? Promise.resolve()).then(action);
  queues.set(name, turn.catch(() => undefined));
  return await turn;
}
