/** features.sensor: how a device turns a sensor's readings into x, so that every device does. */

import { InvalidInput } from "./errors.js";
import { integer, list, number, oneOf, otherwise, section, text } from "./schema.js";

/** Readings further apart than either of these do not belong into one window. */
export const GAP_SECONDS = 1;
export const GAP_TICKS = 5;

const SUMMARY = ["mean", "standard deviation", "smallest", "largest"];

/**
 * A reading is one number: the length of the acceleration vector (m/s²), the level of the sound
 * (root mean square, 0 … 1), the illuminance (lux) or the speed (m/s). `manual` has none: the
 * participant enters the numbers named in `fields`.
 */
export const SENSOR = section({
  kind: oneOf("light", "manual", "motion", "sound", "speed"),
  rate: otherwise(20, number(0.01, 1000)),
  window: otherwise(64, integer(1, 4096)),
  transform: otherwise("spectrum", oneOf("amplitudes", "spectrum", "summary", "values")),
  first_bin: otherwise(1, number(0, 1)),
  scale: otherwise(1, number(1e-9, 1e9)),
  every: otherwise(30, number(0, 1e6)),
  trigger: otherwise("always", oneOf("always", "label-change")),
  fields: otherwise([], list(text(1, 80), 200)),
});

/** @typedef {ReturnType<typeof SENSOR>} Sensor */

/**
 * The most samples that one reading can be in: windows overlap where samples come faster than a
 * window passes, and a sensor that is slower than the rate leaves one reading at several ticks.
 *
 * @param {Sensor} sensor
 */
export function samplesPerReading({ kind, trigger, every, rate, window }) {
  if (kind === "manual" || trigger === "label-change") return 1;
  const apart = Math.max(1, Math.ceil(every * rate - 1e-9));
  const repeated = Math.max(GAP_TICKS, Math.ceil(GAP_SECONDS * rate));
  return Math.ceil((window + repeated - 1) / apart);
}

/**
 * Throw unless the pipeline makes `count` features.
 *
 * @param {Sensor} sensor
 * @param {number} count
 */
export function checkSensor({ kind, transform, fields, window }, count) {
  const manual = kind === "manual";
  if (manual !== (transform === "values")) {
    throw new InvalidInput(
      'sensor.transform must be "values" for manual and only for it, found "{transform}" for {kind}.',
      { transform, kind },
    );
  }
  if (manual !== fields.length > 0) {
    throw new InvalidInput(
      "sensor.fields must name the numbers to enter for manual and only for it, found {n} for {kind}.",
      { n: fields.length, kind },
    );
  }
  const fixed = { summary: SUMMARY.length, values: fields.length };
  const made = transform in fixed ? fixed[/** @type {"values"} */ (transform)] : count;
  if (count !== made) {
    throw new InvalidInput(
      'features.count must be {made}, the numbers that sensor.transform "{transform}" makes, ' +
        "found {count}.",
      { made, transform, count },
    );
  }
  if (!(transform in fixed) && count > window) {
    throw new InvalidInput(
      "features.count must be at most {window}, the bins of sensor.window, found {count}.",
      { window, count },
    );
  }
}
