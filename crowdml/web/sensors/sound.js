/** Read sound: the microphone's level, root mean square, 0 … 1. Nothing is recorded. */

import { phrase } from "../phrase.js";
import { sensorErrorOf } from "./sensor_error.js";

/** @import { Source } from "../types.js" */

export const name = phrase("microphone");
export const unit = phrase("of full level");

/** Request unfiltered sound: a browser's filters would change the level. */
const RAW = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export function supported() {
  return Boolean(globalThis.navigator?.mediaDevices && globalThis.AudioContext);
}

export async function present() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.some(({ kind }) => kind === "audioinput");
}

/** @type {Source["start"]} */
export async function start(onReading, { rate }) {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: RAW });
  } catch (error) {
    throw sensorErrorOf(name, error);
  }
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = powerOfTwo(context.sampleRate / rate);
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    if (context.state !== "running") return;
    analyser.getFloatTimeDomainData(samples);
    onReading(performance.now() / 1000, level(samples));
  }, 1000 / rate);
  return () => {
    clearInterval(timer);
    for (const track of stream.getTracks()) track.stop();
    context.close();
  };
}

/** @param {Float32Array} samples */
export function level(samples) {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
}

/** @param {number} wanted */
function powerOfTwo(wanted) {
  return 2 ** Math.min(15, Math.max(5, Math.floor(Math.log2(wanted))));
}
