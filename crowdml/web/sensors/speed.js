/** Read speed in m/s from the location service. The place itself is dropped at once. */

import { phrase } from "../phrase.js";
import { sensorErrorOf } from "./sensor_error.js";

/** @import { OnReading } from "../types.js" */

export const name = phrase("location service");
export const unit = "m/s";

export function supported() {
  return Boolean(globalThis.navigator?.geolocation);
}

/** @param {OnReading} onReading */
export function start(onReading) {
  return new Promise((resolve, reject) => {
    const watch = navigator.geolocation.watchPosition(
      ({ coords, timestamp }) => {
        resolve(stop);
        if (coords.speed !== null) onReading(timestamp / 1000, coords.speed);
      },
      ({ code, PERMISSION_DENIED, message }) => {
        // Other errors may pass, as in a tunnel or after a cold start.
        if (code !== PERMISSION_DENIED) return resolve(stop);
        stop();
        const error = new DOMException(message, "NotAllowedError");
        reject(sensorErrorOf(name, error));
      },
      { enableHighAccuracy: true, maximumAge: 0 },
    );
    const stop = () => navigator.geolocation.clearWatch(watch);
  });
}
