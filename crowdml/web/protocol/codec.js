/** Encode arrays as little-endian bytes, which JSON carries in base64. */

import { InvalidInput } from "../errors.js";

const CHUNK = 2 ** 15;

/**
 * Decode w from base64 of float32. Anything but `size` finite numbers is rejected: with other
 * values a server could steer the gradient.
 *
 * @type {(base64: string, size: number) => Float64Array<ArrayBuffer>}
 */
export function decodeParameters(base64, size) {
  const bytes = new DataView(decodeBytes(base64, size, "parameters").buffer);
  const w = Float64Array.from({ length: size }, (_, j) => bytes.getFloat32(4 * j, true));
  if (!w.every(Number.isFinite)) {
    throw new InvalidInput("parameters must be finite numbers, found NaN or Infinity.");
  }
  return w;
}

/** @param {readonly number[]} u */
export function encodeGradient(u) {
  const view = new DataView(new ArrayBuffer(4 * u.length));
  u.forEach((value, j) => view.setInt32(4 * j, value, true));
  const bytes = new Uint8Array(view.buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  }
  return btoa(text);
}

/**
 * Decode the integers of a check-in's gradient, as they were sent.
 *
 * @type {(base64: string, size: number) => number[]}
 */
export function decodeGradient(base64, size) {
  const bytes = new DataView(decodeBytes(base64, size, "gradient").buffer);
  return Array.from({ length: size }, (_, j) => bytes.getInt32(4 * j, true));
}

/** @type {(base64: string, size: number, what: string) => Uint8Array<ArrayBuffer>} */
export function decodeBytes(base64, size, what) {
  let text;
  try {
    text = atob(base64);
  } catch (error) {
    throw new InvalidInput("{what} must be base64.", { what }, { cause: error });
  }
  if (text.length !== 4 * size) {
    throw new InvalidInput("{what} must be {n} bytes, found {found}.", {
      what,
      n: 4 * size,
      found: text.length,
    });
  }
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
