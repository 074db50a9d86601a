/** Arrays as bytes: little-endian, nothing else; JSON carries them in base64. */

import { InvalidInput } from "./errors.js";

const CHUNK = 2 ** 15;

/**
 * w from base64 of float32; anything but `size` finite numbers is refused, since a server could
 * otherwise steer the gradient with values that are not numbers.
 *
 * @param {string} base64
 * @param {number} size
 * @returns {Float64Array<ArrayBuffer>}
 */
export function decodeParameters(base64, size) {
  const bytes = decodeBytes(base64, size, "parameters");
  const w = Float64Array.from({ length: size }, (_, j) => bytes.getFloat32(4 * j, true));
  if (!w.every(Number.isFinite)) {
    throw new InvalidInput("parameters must be finite numbers, found NaN or Infinity.");
  }
  return w;
}

/**
 * Base64 of int32.
 *
 * @param {readonly number[]} u
 * @returns {string}
 */
export function encodeGradient(u) {
  const bytes = new DataView(new ArrayBuffer(4 * u.length));
  u.forEach((value, j) => bytes.setInt32(4 * j, value, true));
  return encodeBytes(new Uint8Array(bytes.buffer));
}

/**
 * The integers of a check-in's gradient, as they were sent.
 *
 * @param {string} base64
 * @param {number} size
 * @returns {number[]}
 */
export function decodeGradient(base64, size) {
  const bytes = decodeBytes(base64, size, "gradient");
  return Array.from({ length: size }, (_, j) => bytes.getInt32(4 * j, true));
}

/** @param {Uint8Array} bytes */
function encodeBytes(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  }
  return btoa(text);
}

/**
 * @param {string} base64
 * @param {number} size
 * @param {string} what
 */
function decodeBytes(base64, size, what) {
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
  return new DataView(Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
}
