/** List the sensors that a task can name; the browser has no other list of them. */

import * as light from "./light.js";
import * as motion from "./motion.js";
import * as sound from "./sound.js";
import * as speed from "./speed.js";
import { SensorError } from "./sensor_error.js";

/** @import { SensorKind, Source } from "../types.js" */

/**
 * A kind that is registered while the page is open is valid from then on.
 *
 * @type {Record<string, SensorKind>}
 */
export const SENSORS = {
  light,
  manual: { typedIn: true },
  motion,
  sound,
  speed,
};

/** @type {(kind: string) => Source} */
export function sensorOf(kind) {
  const known = SENSORS[kind];
  if (!known || known.typedIn) {
    throw new SensorError("A browser has no sensor for {kind}.", { kind });
  }
  return known;
}

/** @param {string} kind Of a sensor; throws if this browser has none. */
export function sourceOf(kind) {
  const source = sensorOf(kind);
  if (source.supported()) return source;
  throw new SensorError(
    "This browser has no {name}. Try another browser, or a phone, over https.",
    { name: source.name },
  );
}

/** @param {Source} source Of which this device has none. */
export function missing({ name }) {
  return new SensorError("This device has no {name}. Take part with a phone.", { name });
}

/**
 * Decide whether participants enter numbers, so that there are no readings.
 *
 * @param {{kind: string}} sensor
 */
export function isTypedIn({ kind }) {
  return SENSORS[kind]?.typedIn === true;
}

export { SensorError };
