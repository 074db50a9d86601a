/**
 * Store the device's memory: one IndexedDB database with buffer, outbox, ledger, token and terms.
 *
 * Every method is one durable transaction. Nothing here changes or removes a line of the ledger;
 * `erase` removes the device as a whole.
 */

import { Ledger } from "../../privacy/ledger.js";
import { asked, openDatabase, transact } from "./database.js";
import { DeviceRecord } from "./record.js";

/** @import { End, Identity, Kept, LedgerLine, SentCheckin, WriteFromBuffer, WrittenCheckin } from "../../types.js" */

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
const KEPT = "results";
const COPY = "copy";

export class DeviceStore {
  #db;
  #record;
  #erased = false;
  /** What check-ins of this session were made from. It is never written to disk. */
  #truths = /** @type {Map<string, object>} */ (new Map());

  /** @param {IDBDatabase} db @param {DeviceRecord} record */
  constructor(db, record) {
    this.#db = db;
    this.#record = record;
    this.name = db.name;
    // Another tab erases the device: an open connection would keep its data.
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
    const db = await openDatabase(`crowdml ${task} at ${url}`, 1, ({ result }) => {
      for (const [name, options] of SCHEMA) result.createObjectStore(name, options);
    });
    return new DeviceStore(db, await DeviceRecord.open(db.name));
  }

  close() {
    this.#db.close();
    this.#record.close();
  }

  /**
   * Remember a new identity, unless another tab has joined, and begin its record first.
   *
   * @param {Identity} identity
   */
  async join(identity) {
    await this.#record.begin(identity.record);
    return this.update((other) => other ?? identity);
  }

  /** Delete everything, unless another tab has done so. */
  async erase() {
    if (this.#erased) return;
    await this.#transaction(ALL, "readwrite", (stores) =>
      Promise.all(Object.values(stores).map((store) => asked(store.clear()))),
    );
    this.#db.close();
    await asked(indexedDB.deleteDatabase(this.name));
    await this.#record.erase();
  }

  /** @returns {Promise<Identity | undefined>} */
  async identity() {
    if (this.#erased) return undefined;
    return this.#transaction(["identity"], "readonly", ({ identity }) => asked(identity.get(ME)));
  }

  /**
   * Change the identity, given the stored identity and the number of waiting samples.
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

  /** Read n_s from the database, since another tab may have used samples. */
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
   * @param {WriteFromBuffer} write
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
      const written = write(x, y, Ledger.of(events), known);
      if (!written) return undefined;
      const { checkin, event, truth, tally } = written;
      await Promise.all([
        asked(outbox.add(checkin)),
        asked(ledger.add({ checkin: checkin.id, event })),
        asked(sent.add({ id: checkin.id, time: Date.now(), body: checkin.body, tally })),
        asked(buffer.delete(IDBKeyRange.upperBound(keys.at(-1)))),
      ]);
      this.#truths.set(checkin.id, truth);
      return checkin;
    });
  }

  /**
   * Decide whether a check-in may be sent: the record has it on disk, and no other in its place.
   *
   * @param {WrittenCheckin} checkin
   */
  async claim({ id }) {
    return this.#record.claim((await this.#me()).record, await this.#lines(), id);
  }

  /**
   * End the device if the record has check-ins that the ledger does not have: another copy has sent
   * them. They are charged, and the device ends, in one transaction.
   *
   * @param {End} why
   */
  async endIfOvertaken(why) {
    // Read the record first: another tab may send a check-in between the two.
    const known = await this.#record.known((await this.#me()).record);
    if (known.length <= (await this.#lines()).length) return false;
    await this.#chargeUnknown(known, why);
    return true;
  }

  /**
   * Charge the check-in that another copy of the device has sent under this number, and end.
   *
   * @type {(checkin: WrittenCheckin, answer: string, why: End) => Promise<void>}
   */
  async chargeCopy(checkin, answer, why) {
    const { record } = await this.#me();
    const lines = await this.#lines();
    const mine = lines.filter((line) => line.checkin === checkin.id);
    const copies = mine.map(({ event }) => ({ checkin: `${checkin.id}-copy`, event }));
    await this.#record.claim(record, [...lines, ...copies], checkin.id);
    await this.#chargeUnknown(await this.#record.known(record), why, checkin.id, answer);
  }

  /** @type {(known: LedgerLine[], why: End, checkin?: string, answer?: string) => Promise<void>} */
  #chargeUnknown(known, why, checkin, answer) {
    const names = /** @type {const} */ (["identity", "ledger", "sent", "answers", "outbox"]);
    return this.#transaction(names, "readwrite", async (stores) => {
      const { identity, ledger, sent, answers, outbox } = stores;
      const lines = await asked(ledger.getAll());
      for (const line of known.slice(lines.length)) {
        await asked(ledger.add({ checkin: line.checkin, event: line.event }));
        await asked(sent.add({ id: line.checkin, time: Date.now(), body: new Uint8Array() }));
        await asked(answers.put(COPY, line.checkin));
      }
      if (checkin) {
        await asked(outbox.delete(checkin));
        await asked(answers.put(answer, checkin));
      }
      const me = await asked(identity.get(ME));
      await asked(identity.put({ ...me, ended: why }, ME));
    });
  }

  /** @returns {Promise<Identity>} */
  async #me() {
    return /** @type {Identity} */ ({ record: "", ...(await this.identity()) });
  }

  /** @returns {Promise<LedgerLine[]>} */
  #lines() {
    return this.#transaction(["ledger"], "readonly", ({ ledger }) => asked(ledger.getAll()));
  }

  /** @returns {Promise<WrittenCheckin | undefined>} The check-in that still has to be answered. */
  pendingCheckin() {
    return this.#transaction(["outbox"], "readonly", async ({ outbox }) =>
      (await asked(outbox.getAll(null, 1))).at(0),
    );
  }

  /**
   * Store the server's answer to a check-in, which then never needs to be sent again.
   *
   * @type {(checkin: WrittenCheckin, answer: string, version?: number) => Promise<void>}
   */
  storeAnswer(checkin, answer, version) {
    const names = /** @type {const} */ (["outbox", "answers", "sent"]);
    return this.#transaction(names, "readwrite", async ({ outbox, answers, sent }) => {
      await asked(outbox.delete(checkin.id));
      const known = await asked(answers.getKey(checkin.id));
      if (known === undefined) await asked(answers.add(answer, checkin.id));
      const record = await asked(sent.get(checkin.id));
      if (record && version !== undefined) await asked(sent.put({ ...record, version }));
    });
  }

  /** @returns {Promise<Kept>} */
  readKept() {
    return this.#transaction(["identity"], "readonly", async ({ identity }) => {
      return (await asked(identity.get(KEPT))) ?? {};
    });
  }

  /** @type {(more: Kept) => Promise<Kept>} */
  updateKept(more) {
    return this.#transaction(["identity"], "readwrite", async ({ identity }) => {
      const kept = { ...(await asked(identity.get(KEPT))), ...more };
      await asked(identity.put(kept, KEPT));
      return kept;
    });
  }

  /** @returns {Promise<Ledger>} */
  ledger() {
    return this.#lines().then(Ledger.of);
  }

  /** @returns {Promise<SentCheckin[]>} Every check-in of the ledger, in order. */
  history() {
    const names = /** @type {const} */ (["ledger", "sent", "answers"]);
    return this.#transaction(names, "readonly", async ({ ledger, sent, answers }) => {
      const lines = await asked(ledger.getAll());
      const joined = lines.map(async ({ checkin, event }) => {
        const [record, answer] = await Promise.all([
          asked(sent.get(checkin)),
          asked(answers.get(checkin)),
        ]);
        const truth = this.#truths.get(checkin) ?? null;
        return { ...record, truth, event, answer: answer ?? "waiting" };
      });
      return Promise.all(joined);
    });
  }

  /** @type {<N extends string, T>(names: readonly N[], mode: IDBTransactionMode, action: (stores: Record<N, IDBObjectStore>) => Promise<T>) => Promise<T>} */
  #transaction(names, mode, action) {
    return transact(this.#db, names, mode, action);
  }
}
