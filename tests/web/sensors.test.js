import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { SENSOR, checkSensor, samplesPerReading } from "../../crowdml/web/protocol/sensor.js";
import { SENSORS, SensorError, sensorOf, sourceOf } from "../../crowdml/web/sensors/index.js";
import * as light from "../../crowdml/web/sensors/light.js";
import * as motion from "../../crowdml/web/sensors/motion.js";
import * as sound from "../../crowdml/web/sensors/sound.js";
import * as speed from "../../crowdml/web/sensors/speed.js";

/** @typedef {[time: number, reading: number]} Reading */

/** @type {(() => void)[]} */
const undo = [];

afterEach(() => {
  for (const action of undo.splice(0)) action();
});

/**
 * Give the test a browser's property until its end.
 *
 * @param {string} name
 * @param {unknown} value
 */
function pretend(name, value) {
  const old = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  undo.push(() => {
    if (old) Object.defineProperty(globalThis, name, old);
    else Reflect.deleteProperty(globalThis, name);
  });
}

/** A window that events can be sent to. */
function pretendWindow() {
  const target = new EventTarget();
  pretend("addEventListener", target.addEventListener.bind(target));
  pretend("removeEventListener", target.removeEventListener.bind(target));
  return target;
}

/**
 * @param {unknown} acceleration
 * @param {number} timeStamp
 */
function motionEvent(acceleration, timeStamp) {
  const event = new Event("devicemotion");
  Object.defineProperty(event, "timeStamp", { value: timeStamp });
  return Object.assign(event, { accelerationIncludingGravity: acceleration });
}

test("a sensor that the browser lacks, and one that nobody knows, say what to do", () => {
  assert.throws(() => sourceOf("light"), /no light sensor\. Try another browser/);
  assert.throws(() => sourceOf("smell"), SensorError);
  assert.equal(sensorOf("motion").unit, "m/s²");
});

test("a sensor that is registered later is valid from then on", () => {
  const terms = { kind: "smell", window: 4, transform: "summary" };
  assert.throws(() => SENSOR(terms, "sensor"), /one of light, manual, motion, sound, speed, found/);
  undo.push(() => Reflect.deleteProperty(SENSORS, "smell"));
  SENSORS["smell"] = { ...light, supported: () => true };
  const sensor = SENSOR(terms, "sensor");
  checkSensor(sensor, 4);
  assert.equal(samplesPerReading(sensor), 1);
  assert.equal(sourceOf(sensor.kind), SENSORS["smell"]);
});

test("where numbers are typed in, whatever the kind, they have names and no readings", () => {
  undo.push(() => Reflect.deleteProperty(SENSORS, "weight"));
  SENSORS["weight"] = { typedIn: true };
  const named = { kind: "weight", transform: "values", fields: ["kg"], every: 0 };
  const sensor = SENSOR(named, "sensor");
  checkSensor(sensor, 1);
  assert.equal(samplesPerReading(sensor), 1);
  assert.throws(() => checkSensor({ ...sensor, transform: "summary" }, 4), /sensor.transform/);
  assert.throws(() => sensorOf("weight"), SensorError);
});

test("motion is the length of the acceleration, in seconds of the event", async () => {
  pretend("DeviceMotionEvent", class {});
  const target = pretendWindow();
  /** @type {Reading[]} */
  const readings = [];
  const stop = await motion.start((...reading) => readings.push(reading));
  target.dispatchEvent(motionEvent({ x: 2, y: 3, z: 6 }, 1500));
  target.dispatchEvent(motionEvent({ x: null, y: null, z: null }, 1520));
  target.dispatchEvent(motionEvent(null, 1540));
  stop();
  target.dispatchEvent(motionEvent({ x: 1, y: 0, z: 0 }, 1560));
  assert.deepEqual(readings, [[1.5, 7]]);
});

test("motion that the participant refuses is not read", async () => {
  const kind = { requestPermission: async () => "denied" };
  pretend("DeviceMotionEvent", kind);
  await assert.rejects(motion.start(assert.fail), /was refused/);
  kind.requestPermission = () => Promise.reject(new DOMException("no tap", "NotAllowedError"));
  await assert.rejects(motion.start(assert.fail), /Allow it in the browser's settings/);
});

test("the level of a sound is its root mean square", () => {
  assert.equal(sound.level(Float32Array.of(0.5, -0.5, 0.5, -0.5)), 0.5);
  assert.equal(sound.level(new Float32Array(8)), 0);
});

test("the microphone is read at the rate, and let go", async () => {
  let stopped = 0;
  const stream = { getTracks: () => [{ stop: () => stopped++ }] };
  const context = {
    sampleRate: 48_000,
    state: "running",
    createAnalyser: () => ({
      getFloatTimeDomainData: (/** @type {Float32Array} */ all) => all.fill(0.25),
    }),
    createMediaStreamSource: () => ({ connect() {} }),
    close: () => stopped++,
  };
  pretend("AudioContext", function () {
    return context;
  });
  pretend("navigator", { mediaDevices: { getUserMedia: async () => stream } });
  assert.ok(sound.supported());
  /** @type {Reading[]} */
  const readings = [];
  const stop = await sound.start((...reading) => readings.push(reading), { rate: 200 });
  while (readings.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  stop();
  assert.equal(stopped, 2);
  const n = readings.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(readings.length, n);
  assert.ok(readings.every(([, level]) => level === 0.25));
});

test("a microphone that is refused says what to do", async () => {
  const denied = new DOMException("denied", "NotAllowedError");
  pretend("navigator", { mediaDevices: { getUserMedia: () => Promise.reject(denied) } });
  const started = sound.start(assert.fail, { rate: 10 });
  await assert.rejects(started, /microphone may not be used\. Allow/);
});

test("light is read at every tick, even if it does not change", async () => {
  class AmbientLightSensor {
    illuminance = 320;
    onactivate = () => {};
    start() {
      this.onactivate();
    }
    stop() {}
  }
  assert.ok(!light.supported());
  pretend("AmbientLightSensor", AmbientLightSensor);
  assert.ok(light.supported());
  /** @type {Reading[]} */
  const readings = [];
  const stop = await light.start((...reading) => readings.push(reading), { rate: 500 });
  while (readings.length < 3) await new Promise((resolve) => setTimeout(resolve, 2));
  stop();
  assert.ok(readings.every(([, reading]) => reading === 320));
});

test("speed drops the place, and waits while there is none", async () => {
  /** @type {((position: object) => void)[]} */
  const listeners = [];
  /** @type {number[]} */
  const cleared = [];
  const geolocation = {
    watchPosition: (/** @type {(position: object) => void} */ listener) => listeners.push(listener),
    clearWatch: (/** @type {number} */ id) => cleared.push(id),
  };
  pretend("navigator", { geolocation });
  /** @type {unknown[][]} */
  const readings = [];
  const started = speed.start((...reading) => readings.push(reading));
  listeners[0]?.({ coords: { speed: null, latitude: 40 }, timestamp: 1000 });
  const stop = await started;
  listeners[0]?.({ coords: { speed: 3.5, latitude: 41 }, timestamp: 2500 });
  stop();
  assert.deepEqual(readings, [[2.5, 3.5]]);
  assert.deepEqual(cleared, [1]);
});

test("a location that is refused is an error; one that is not found yet is not", async () => {
  /** @type {((error: object) => void)[]} */
  const listeners = [];
  const watchPosition = (
    /** @type {unknown} */ _,
    /** @type {(error: object) => void} */ listener,
  ) => listeners.push(listener);
  pretend("navigator", { geolocation: { watchPosition, clearWatch() {} } });
  const refused = speed.start(assert.fail);
  listeners[0]?.({ code: 1, PERMISSION_DENIED: 1, message: "denied" });
  await assert.rejects(refused, /location service may not be used\. Allow/);
  const lost = speed.start(assert.fail);
  listeners[1]?.({ code: 3, PERMISSION_DENIED: 1, message: "timeout" });
  assert.equal(typeof (await lost), "function");
});
