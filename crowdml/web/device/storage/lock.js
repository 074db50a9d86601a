/** Run one action at a time, in all tabs of a browser. */

import { DeviceError } from "../../errors.js";

/**
 * Run an action while no other action runs under the same name.
 *
 * This keeps two tabs from sending one check-in at the same time; the store's transactions rule out
 * everything that must never happen.
 *
 * @type {<T>(name: string, action: () => Promise<T>) => Promise<T>}
 */
export async function withLock(name, action) {
  if (!navigator.locks) {
    throw new DeviceError("taking part needs https, and a browser of March 2022 or newer.");
  }
  return await navigator.locks.request(name, action);
}
