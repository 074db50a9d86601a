/**
 * The device's memory: one IndexedDB database with buffer, outbox, ledger, token and terms.
 *
 * Every method is one durable transaction. Nothing here changes or removes a line of the ledger;
 * `erase` removes the device as a whole.
 */

import { CrowdmlError, DeviceError } from "./errors.js";
import { Ledger } from "./ledger.js";

/** @import { CheckinEvent, Identity, WrittenCheckin, Sanitize, Sent } from "./types.js" */

const SCHEMA = Object.entries({
  identity: {},
  buffer: { autoIncrement: true },
  outbox: { keyPath: "id" },
  ledger: { autoIncrement: true },
  sent: { keyPath: "id" },
  answers: {},
});
const ALL = SCHEMA.map(([name]) => name);
const ME = "me";

export class DeviceStore {
  #db;
  #erased = false;

  /** @param {IDBDatabase} db */
  constructor(db) {
    this.#db = db;
    this.name = db.name;
    // Another tab erases the device: holding on would keep its data alive.
    db.onversionchange = () => {
      this.#erased = true;
      db.close();
    };
  }

  /**
   * @param {string} url The server's root.
   * @param {string} task
   */
  static async open(url, task) {
    try {
      const request = indexedDB.open(`crowdml ${task} at ${url}`, 1);
      request.onupgradeneeded = () => {
        for (const [name, options] of SCHEMA) request.result.createObjectStore(name, options);
      };
      return new DeviceStore(await asked(request));
    } catch (error) {
      throw unusable(error);
    }
  }

  close() {
    this.#db.close();
  }

  /**
   * Forget everything but the ledger, the answers and this.
   *
   * @param {Identity} me
   */
  keepLedger(me) {
    const names = /** @type {const} */ (["identity", "buffer", "outbox", "sent"]);
    return this.#transaction(names, "readwrite", async ({ identity, buffer, outbox, sent }) => {
      await Promise.all([buffer, outbox, sent].map((store) => asked(store.clear())));
      await asked(identity.put(me, ME));
    });
  }

  /** Forget everything, unless another tab has done so. */
  async erase() {
    if (this.#erased) return;
    await this.#transaction(ALL, "readwrite", (stores) =>
      Promise.all(Object.values(stores).map((store) => asked(store.clear()))),
    );
    this.#db.close();
    await asked(indexedDB.deleteDatabase(this.name));
  }

  /** @returns {Promise<Identity | undefined>} */
  async identity() {
    if (this.#erased) return undefined;
    return this.#transaction(["identity"], "readonly", ({ identity }) => asked(identity.get(ME)));
  }

  /**
   * Change the identity, given the one that is stored and how many samples wait.
   *
   * @param {(identity: Identity | undefined, nSamples: number) => Identity} change
   * @returns {Promise<Identity>}
   */
  update(change) {
    return this.#transaction(["identity", "buffer"], "readwrite", async ({ identity, buffer }) => {
      const [known, n] = await Promise.all([asked(identity.get(ME)), asked(buffer.count())]);
      const changed = change(known, n);
      await asked(identity.put(changed, ME));
      return changed;
    });
  }

  /** n_s, asked of the database: another tab may have used it. */
  nSamples() {
    return this.#transaction(["buffer"], "readonly", ({ buffer }) => asked(buffer.count()));
  }

  /**
   * @param {Float64Array} x
   * @param {number} y
   * @param {(identity: Identity | undefined, nSamples: number) => boolean} admit
   */
  add(x, y, admit) {
    return this.#transaction(["identity", "buffer"], "readwrite", async ({ identity, buffer }) => {
      const [known, n] = await Promise.all([asked(identity.get(ME)), asked(buffer.count())]);
      const admitted = admit(known, n);
      if (admitted) await asked(buffer.add({ x, y }));
      return admitted;
    });
  }

  /**
   * Turn the oldest samples into one check-in, in one transaction, unless `write` declines.
   *
   * No other tab can use a sample again or spend the same ε, since transactions take turns.
   * `write` must not wait for anything.
   *
   * @param {Sanitize} write
   * @param {number} [nSamples] How many samples; by default all.
   * @returns {Promise<WrittenCheckin | undefined>}
   */
  release(write, nSamples) {
    const names = /** @type {const} */ (["identity", "buffer", "ledger", "outbox", "sent"]);
    return this.#transaction(names, "readwrite", async (stores) => {
      const { identity, buffer, ledger, outbox, sent } = stores;
      const [known, keys, samples, events] = await Promise.all([
        asked(identity.get(ME)),
        asked(buffer.getAllKeys(null, nSamples)),
        asked(buffer.getAll(null, nSamples)),
        asked(ledger.getAll()),
      ]);
      const x = samples.map((sample) => sample.x);
      const y = samples.map((sample) => sample.y);
      const written = write(x, y, ledgerOf(events), known);
      if (!written) return undefined;
      const { checkin, event, truth } = written;
      await Promise.all([
        asked(outbox.add(checkin)),
        asked(ledger.add({ checkin: checkin.id, event })),
        asked(sent.add({ id: checkin.id, time: Date.now(), body: checkin.body, truth })),
        asked(buffer.delete(IDBKeyRange.upperBound(keys.at(-1)))),
      ]);
      return checkin;
    });
  }

  /** @returns {Promise<WrittenCheckin | undefined>} The checkin that still has to be answered. */
  pending() {
    return this.#transaction(["outbox"], "readonly", async ({ outbox }) =>
      (await asked(outbox.getAll(null, 1))).at(0),
    );
  }

  /**
   * The server's word on a check-in: it never needs to be sent again.
   *
   * @type {(checkin: WrittenCheckin, answer: string) => Promise<void>}
   */
  answered(checkin, answer) {
    return this.#transaction(["outbox", "answers"], "readwrite", async ({ outbox, answers }) => {
      await asked(outbox.delete(checkin.id));
      const known = await asked(answers.getKey(checkin.id));
      if (known === undefined) await asked(answers.add(answer, checkin.id));
    });
  }

  /** @returns {Promise<Ledger>} */
  ledger() {
    return this.#transaction(["ledger"], "readonly", async ({ ledger }) =>
      ledgerOf(await asked(ledger.getAll())),
    );
  }

  /** @returns {Promise<Sent[]>} Every check-in of the ledger, in order. */
  history() {
    const names = /** @type {const} */ (["ledger", "sent", "answers"]);
    return this.#transaction(names, "readonly", async ({ ledger, sent, answers }) => {
      const lines = await asked(ledger.getAll());
      const joined = lines.map(async ({ checkin, event }) => {
        const [record, answer] = await Promise.all([
          asked(sent.get(checkin)),
          asked(answers.get(checkin)),
        ]);
        return { ...record, event, answer: answer ?? "waiting" };
      });
      return Promise.all(joined);
    });
  }

  /**
   * All or nothing; "strict" is on the disk, not in a cache, when it is done.
   *
   * @template {string} N
   * @template T
   * @param {readonly N[]} names
   * @param {IDBTransactionMode} mode
   * @param {(stores: Record<N, IDBObjectStore>) => Promise<T>} action
   * @returns {Promise<T>}
   */
  async #transaction(names, mode, action) {
    try {
      const transaction = this.#db.transaction(names, mode, { durability: "strict" });
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
}

/** @param {IDBTransaction} transaction */
function abort(transaction) {
  try {
    transaction.abort();
  } catch {
    // It has ended by itself, without a trace, because a request in it failed.
  }
}

/** @param {readonly {event: CheckinEvent}[]} lines */
function ledgerOf(lines) {
  return new Ledger(lines.map((line) => line.event));
}

/** @param {unknown} error */
function unusable(error) {
  return new DeviceError(
    "cannot use the device's memory in this browser: {why}.",
    { why: String(error) },
    { cause: error },
  );
}

/** @type {<T>(request: IDBRequest<T>) => Promise<T>} */
function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
