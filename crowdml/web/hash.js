/** Compute SHA-256, which browsers offer only on pages that cannot be tampered with. */

import { DeviceError } from "./errors.js";

/** @param {string | Uint8Array<ArrayBuffer>} data A text is hashed as UTF-8. */
export async function sha256(data) {
  if (!globalThis.crypto?.subtle) {
    throw new DeviceError(
      "the terms cannot be checked: browsers compute hashes on pages from https:// or localhost " +
        "only. Open this page over https.",
    );
  }
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** @param {string | Uint8Array<ArrayBuffer>} data Its SHA-256 is written in hexadecimal. */
export async function hexOf(data) {
  const hash = await sha256(data);
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
