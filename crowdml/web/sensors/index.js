/** The sensors of a browser, by the kind that a task names. */

import * as light from "./light.js";
import * as motion from "./motion.js";
import * as sound from "./sound.js";
import * as speed from "./speed.js";
import { SensorTrouble } from "./trouble.js";
import { phrase } from "../phrase.js";

/** @import { Phrase } from "../types.js" */

/**
 * The time is in seconds.
 * @typedef {(time: number, reading: number) => void} OnReading
 *
 * @typedef {object} Source
 * @property {() => boolean} supported
 * @property {() => Promise<void>} [ask] Asks for permission; must be called in a tap.
 * @property {(onReading: OnReading, options: {rate: number}) => Promise<() => void>} start
 *   Reads until the function that it promises is called.
 */

/** @type {Record<string, {source: Source, name: Phrase, unit: string | Phrase}>} */
const SENSORS = {
  light: { source: light, name: phrase("light sensor"), unit: "lx" },
  motion: { source: motion, name: phrase("motion sensor"), unit: "m/s²" },
  sound: { source: sound, name: phrase("microphone"), unit: phrase("of full level") },
  speed: { source: speed, name: phrase("location service"), unit: "m/s" },
};

/** @param {string} kind */
export function sensorOf(kind) {
  const known = SENSORS[kind];
  if (!known) throw new SensorTrouble("A browser has no sensor for {kind}.", { kind });
  return known;
}

/** @param {string} kind */
export function sourceOf(kind) {
  const { source, name } = sensorOf(kind);
  if (source.supported()) return source;
  throw new SensorTrouble(
    "This browser has no {name}. Try another browser, or a phone, over https.",
    { name },
  );
}

export { SensorTrouble };
