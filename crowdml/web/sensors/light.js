/** Read light: the illuminance in lux, where the browser has a light sensor. */

import { phrase } from "../phrase.js";
import { sensorErrorOf } from "./sensor_error.js";

/** @import { Source } from "../types.js" */

export const name = phrase("light sensor");
export const unit = "lx";

export function supported() {
  return "AmbientLightSensor" in globalThis;
}

/** @type {Source["start"]} */
export async function start(onReading, { rate }) {
  // Few browsers have the sensor, so TypeScript has no type for it.
  const sensor = new /** @type {any} */ (globalThis).AmbientLightSensor({ frequency: rate });
  await new Promise((resolve, reject) => {
    sensor.onactivate = resolve;
    sensor.onerror = (/** @type {ErrorEvent} */ { error }) =>
      reject(sensorErrorOf(name, error));
    sensor.start();
  });
  // The sensor reports only when the light changes; a window needs every tick.
  const timer = setInterval(() => {
    if (sensor.illuminance != null) onReading(performance.now() / 1000, sensor.illuminance);
  }, 1000 / rate);
  return () => {
    clearInterval(timer);
    sensor.stop();
  };
}
