/** Read motion: the length of the acceleration vector, gravity included, in m/s². */

import { phrase } from "../phrase.js";
import { SensorError, sensorErrorOf } from "./sensor_error.js";

/** @import { OnReading } from "../types.js" */

export const name = phrase("motion sensor");
export const unit = "m/s²";
const PATIENCE = 1500;

export function supported() {
  return "DeviceMotionEvent" in globalThis;
}

/** Ask for permission: iOS asks the participant, and only right after a tap. */
export async function ask() {
  const kind = /** @type {{requestPermission?: () => Promise<string>}} */ (
    globalThis.DeviceMotionEvent
  );
  let answer;
  try {
    answer = await kind.requestPermission?.();
  } catch (error) {
    throw sensorErrorOf(name, error);
  }
  if (answer === "denied") {
    throw new SensorError("The {sensor} was refused. Close this page, open it again and allow it.", {
      sensor: name,
    });
  }
}

/** Check that motion events really come: computers have the event without a sensor behind it. */
export function present() {
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ found) => {
      removeEventListener("devicemotion", listen);
      clearTimeout(timer);
      resolve(found);
    };
    const listen = (/** @type {DeviceMotionEvent} */ event) => {
      if (event.accelerationIncludingGravity?.x != null) end(true);
    };
    const timer = setTimeout(end, PATIENCE, false);
    addEventListener("devicemotion", listen);
  });
}

/** @param {OnReading} onReading */
export async function start(onReading) {
  await ask();
  const listen = (/** @type {DeviceMotionEvent} */ event) => {
    const { x, y, z } = event.accelerationIncludingGravity ?? {};
    if (x == null || y == null || z == null) return;
    onReading(event.timeStamp / 1000, Math.hypot(x, y, z));
  };
  addEventListener("devicemotion", listen);
  return () => removeEventListener("devicemotion", listen);
}
