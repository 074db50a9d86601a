/** Open databases of the browser: every transaction is atomic, and on disk at its end. */

import { CrowdmlError, DeviceError } from "../../errors.js";

/**
 * @param {string} name
 * @param {number} version
 * @param {(request: IDBOpenDBRequest, oldVersion: number) => void} upgrade Makes the stores.
 */
export async function openDatabase(name, version, upgrade) {
  try {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = ({ oldVersion }) => upgrade(request, oldVersion);
    return await asked(request);
  } catch (error) {
    throw unusable(error);
  }
}

/**
 * Run an atomic transaction; "strict" means that it is on disk, not in a cache, when it is done.
 *
 * @template {string} N
 * @template T
 * @param {IDBDatabase} db
 * @param {readonly N[]} names
 * @param {IDBTransactionMode} mode
 * @param {(stores: Record<N, IDBObjectStore>) => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function transact(db, names, mode, action) {
  try {
    const transaction = db.transaction(names, mode, { durability: "strict" });
    const finished = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const entries = names.map((name) => [name, transaction.objectStore(name)]);
    const [result] = await Promise.all([
      action(Object.fromEntries(entries)).catch((error) => {
        abort(transaction);
        throw error;
      }),
      finished,
    ]);
    return result;
  } catch (error) {
    throw error instanceof CrowdmlError ? error : unusable(error);
  }
}

/** @type {<T>(request: IDBRequest<T>) => Promise<T>} */
export function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @param {IDBTransaction} transaction */
function abort(transaction) {
  try {
    transaction.abort();
  } catch {
    // A failed request has already ended the transaction, and that end has no separate error.
  }
}

/** @param {unknown} error */
function unusable(error) {
  return new DeviceError(
    "cannot use the device's memory in this browser: {why}.",
    { why: String(error) },
    { cause: error },
  );
}
