/** SHA-256, which browsers compute only where a page cannot be tampered with. */

import { DeviceError } from "./errors.js";

/** @param {string} text Hashed as UTF-8. */
export async function sha256(text) {
  if (!globalThis.crypto?.subtle) {
    throw new DeviceError(
      "the terms cannot be checked: browsers compute hashes on pages from https:// or localhost " +
        "only. Open this page over https.",
    );
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
