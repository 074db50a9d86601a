/** Plain words for how much is lost, as the server has them in the page. */

import { any, put } from "./elements.js";

/** @type {[number | null, string, string][]} The largest ε, the name, the colour. */
const LEVELS = JSON.parse(any("page").dataset["levels"] ?? "[]");
/** ε of a reading that is in several samples, which no limit lowers. */
const READING = Number(any("page").dataset["reading"]) || 0;

/** @param {number} epsilon ε. */
export function levelOf(epsilon) {
  const lost = Math.max(epsilon, READING);
  const found = LEVELS.find(([most]) => most === null || lost <= most * (1 + 1e-9));
  return { name: found?.[1] ?? "", key: found?.[2] ?? "" };
}

/**
 * @param {string} id
 * @param {number} epsilon ε.
 */
export function showLevel(id, epsilon) {
  const { name, key } = levelOf(epsilon);
  put(id, name);
  any(id).className = `level level-${key}`;
}
