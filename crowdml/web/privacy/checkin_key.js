/** Identify a check-in by its key: all of it is public, and the device chooses none of it. */

import { sha256 } from "../hash.js";

/** @import { CheckinKey } from "../types.js" */

/**
 * Make a key with the public numbers that are drawn for it. They are hashed here, beforehand,
 * because browsers hash asynchronously, and a check-in is written in one synchronous step.
 *
 * @param {string} termsSha256 The hash of the terms that were agreed to.
 * @param {string} device The device's name, which the server chose.
 * @param {number} number The number of the check-in, 1, 2, …
 * @returns {Promise<CheckinKey>}
 */
export async function checkinKeyOf(termsSha256, device, number) {
  const where = `${termsSha256}\n${device}\n${number}`;
  const [seed, role] = await Promise.all([sha256(where), sha256(`${where}\nrole`)]);
  return { number, seed: [word(seed, 0), word(seed, 1)], roleWord: word(role, 0) };
}

/** @type {(bytes: Uint8Array<ArrayBuffer>, index: number) => number} */
function word(bytes, index) {
  return new DataView(bytes.buffer).getUint32(4 * index, true);
}
