/** Turn the columns of x into features: names, and constants for values in their own units. */

import { InvalidSample } from "../errors.js";
import { boundFeatures } from "../privacy/features.js";
import { fail, integer, list, number, oneOf, otherwise, section, text } from "./schema.js";
import { SENSOR, checkSensor } from "./sensor.js";

/** @import { Columns, Norm, Readings } from "../types.js" */

const MOST = 100_000;

/** A value counts as at most this many scales away from its center. */
const CUT = 6;

export const FEATURES = section({
  count: integer(1, MOST),
  description: otherwise("", text(0, 2000)),
  sensor: otherwise(null, SENSOR),
  names: otherwise([], list(text(1, 80), MOST)),
  center: otherwise([], list(number(-1e15, 1e15), MOST)),
  scale: otherwise([], list(number(1e-9, 1e9), MOST)),
  length: otherwise(1, number(1e-9, 1e9)),
  missing: otherwise("reject", oneOf("reject", "center")),
});

/**
 * Throw unless the fields fit each other.
 *
 * @param {ReturnType<typeof FEATURES>} features
 */
export function checkFeatures({ count, sensor, names, center, scale, missing }) {
  for (const [name, { length }] of Object.entries({ names, center, scale })) {
    if (length && length !== count) {
      fail("{count} entries, one for each feature", `features.${name}`, length, { count });
    }
  }
  if (new Set(names).size < names.length || names.some((name) => name !== name.trim())) {
    fail("names that differ and do not begin or end with a space", "features.names", names);
  }
  if (missing === "center" && !center.length) {
    fail("reject where there is no features.center", "features.missing", missing);
  }
  if (!sensor) return;
  if (names.length) fail("left out where there is a sensor", "features.names", names);
  checkSensor(sensor, count);
}

/**
 * Compute x from the values of its columns: z = (value − center) / scale, cut at ± 6 where there
 * are scales, divided by `length`, then rescaled to ‖z‖ = 1 if it is longer.
 *
 * A missing value (null, NaN) is an error, or z = 0 where the terms say so.
 *
 * @type {(columns: Columns, readings: Readings, norm: Norm) => Float64Array<ArrayBuffer>}
 */
export function scaledFeatures(columns, readings, norm) {
  const { count, names, center, scale, length, missing } = columns;
  const values = names.length && isMapping(readings) ? byName(names, readings) : inOrder(readings);
  if (values.length !== count) {
    const found = values.length || typeof readings;
    throw new InvalidSample("x must be {n} numbers, found {found}.", { n: count, found });
  }
  const scaled = values.map((value, j) => {
    const empty = value === null || value === undefined || Number.isNaN(value);
    if (empty && missing === "center") return 0;
    const name = names[j] ?? `x${j}`;
    if (empty) throw new InvalidSample("{name} must have a value, found none.", { name });
    if (typeof value !== "number" || !Number.isFinite(value)) {
      const found = String(value).slice(0, 40);
      throw new InvalidSample("{name} must be a finite number, found {found}.", { name, found });
    }
    const z = (value - (center[j] ?? 0)) / (scale[j] ?? 1);
    return (scale.length ? Math.min(CUT, Math.max(-CUT, z)) : z) / length;
  });
  return boundFeatures(scaled, count, norm);
}

/** @type {(readings: Readings) => readings is Readonly<Record<string, number | null>>} */
function isMapping(readings) {
  const listed = Array.isArray(readings) || ArrayBuffer.isView(readings);
  return typeof readings === "object" && readings !== null && !listed;
}

/** @type {(readings: Readings) => unknown[]} */
function inOrder(readings) {
  const listed = /** @type {ArrayLike<unknown>} */ (readings);
  return typeof listed === "object" && listed !== null ? Array.from(listed) : [];
}

/** @type {(names: readonly string[], readings: Readonly<Record<string, unknown>>) => unknown[]} */
function byName(names, readings) {
  const found = Object.keys(readings).find((each) => !names.includes(each))?.slice(0, 80);
  const name = names.find((each) => !Object.hasOwn(readings, each));
  if (found !== undefined) throw new InvalidSample("{found} is not a column of this task.", { found });
  if (name !== undefined) throw new InvalidSample("{name} is missing.", { name });
  return names.map((each) => readings[each]);
}
