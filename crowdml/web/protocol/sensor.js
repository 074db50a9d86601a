/** Read features.sensor: how every device turns a sensor's readings into x. */

import { InvalidInput } from "../errors.js";
import { SENSORS, isTypedIn } from "../sensors/index.js";
import { integer, list, number, oneOf, otherwise, section, text } from "./schema.js";

/** Readings further apart than either of these do not belong to one window. */
export const GAP_SECONDS = 1;
export const GAP_TICKS = 5;

/** The numbers of a summary: mean, standard deviation, smallest and largest. */
const SUMMARY = 4;

/**
 * A reading is one number, in the sensor's unit. Where numbers are typed in there are no readings:
 * the participant enters those named in `fields`.
 */
export const SENSOR = section({
  kind: (value, path) => oneOf(...Object.keys(SENSORS))(value, path),
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
 * Return the most samples that one reading can be in: windows overlap where samples come faster
 * than a window passes, and a sensor that is slower than the rate repeats one reading at several
 * ticks.
 *
 * @param {Sensor} sensor
 */
export function samplesPerReading(sensor) {
  const { trigger, every, rate, window } = sensor;
  if (isTypedIn(sensor) || trigger === "label-change") return 1;
  const apart = Math.max(1, Math.ceil(every * rate - 1e-9));
  const repeated = Math.max(GAP_TICKS, Math.ceil(GAP_SECONDS * rate));
  return Math.ceil((window + repeated - 1) / apart);
}

/** @type {(sensor: Sensor, count: number) => void} Throws unless it makes `count` features. */
export function checkSensor(sensor, count) {
  const { kind, transform, fields, window } = sensor;
  const typedIn = isTypedIn(sensor);
  if (typedIn !== (transform === "values")) {
    throw new InvalidInput(
      'sensor.transform must be "values" where numbers are typed in, and only there, found "{transform}" for {kind}.',
      { transform, kind },
    );
  }
  if (typedIn !== fields.length > 0) {
    throw new InvalidInput(
      "sensor.fields must name the numbers where they are typed in, and only there, found {n} for {kind}.",
      { n: fields.length, kind },
    );
  }
  const fixed = { summary: SUMMARY, values: fields.length };
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
