/**
 * Keep a device's record: which check-in was sent under which number, outside of its database.
 *
 * A database can be copied, or restored from a backup; then it forgets what was sent and would draw
 * again for the same number. A check-in is stored first in the device's database, then here, and
 * only then sent. So the device never knows less than its record, unless it is a copy. If the page
 * ends between the two steps, the check-in is sent later, with the same bytes.
 */

import { DeviceError } from "../../errors.js";
import { asked, openDatabase, transact } from "./database.js";

/** @import { LedgerLine } from "../../types.js" */

const STORE = /** @type {const} */ (["record"]);

export class DeviceRecord {
  #db;

  /** @param {IDBDatabase} db */
  constructor(db) {
    this.#db = db;
    db.onversionchange = () => db.close();
  }

  /** @param {string} of The name of the device's database. */
  static async open(of) {
    const name = `record of ${of}`;
    const keyPath = ["device", "number"];
    return new DeviceRecord(
      await openDatabase(name, 1, ({ result }) => result.createObjectStore("record", { keyPath })),
    );
  }

  close() {
    this.#db.close();
  }

  /**
   * Begin the record of a device that joins; without a record it sends nothing.
   *
   * @param {string} device
   */
  begin(device) {
    return transact(this.#db, STORE, "readwrite", ({ record }) => asked(record.add({ device, number: 0 })));
  }

  /** Remove the record when the device leaves, so that a copy of the device sends nothing. */
  async erase() {
    this.#db.close();
    await asked(indexedDB.deleteDatabase(this.#db.name));
  }

  /**
   * Return every check-in that was sent, in order.
   *
   * @param {string} device
   * @returns {Promise<LedgerLine[]>}
   */
  async known(device) {
    const rows = await transact(this.#db, STORE, "readonly", ({ record }) => asked(record.getAll(all(device))));
    if (!rows.length) throw missing();
    return rows.slice(1);
  }

  /**
   * Record check-ins of the ledger before the last of them is sent; return whether each has its
   * number.
   *
   * @type {(device: string, ledger: readonly LedgerLine[], checkin: string) => Promise<boolean>}
   */
  claim(device, ledger, checkin) {
    return transact(this.#db, STORE, "readwrite", async ({ record }) => {
      const newest = (await asked(record.count(all(device)))) - 1;
      if (newest < 0) throw missing();
      const lines = ledger.map((line, i) => ({ device, number: i + 1, ...line }));
      for (const line of lines.slice(newest)) await asked(record.add(line));
      const mine = lines.find((line) => line.checkin === checkin);
      const known = mine && (await asked(record.get([device, mine.number])));
      return known?.checkin === checkin;
    });
  }
}

/** @param {string} device */
function all(device) {
  return IDBKeyRange.bound([device, 0], [device, Infinity]);
}

function missing() {
  return new DeviceError(
    "this browser has no record of what this device has sent, so nothing is sent. Leave and join " +
      "again: what you send then adds to what you have lost.",
  );
}
