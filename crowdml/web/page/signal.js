/** Draw the sensor live: the last seconds, the current window, and its features as bars. */

import { sensorOf } from "../sensors/index.js";
import { element, number, put } from "./elements.js";
import { say } from "./say.js";

/** @import { Participation } from "./participation.js" */

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const FRAME_MS = 100;
const CALM_FRAME_MS = 2000;
const TEXT_MS = 2000;
/** A smaller share of the whole does not count as movement. */
const STILL_SHARE = 0.02;

export class Signal {
  #participation;
  #unit;
  #curve = element("curve", HTMLCanvasElement);
  #bars = element("bars", HTMLCanvasElement);
  #describedAt = -TEXT_MS;

  /** @param {Participation} participation */
  constructor(participation) {
    this.#participation = participation;
    this.#unit = participation.typedIn ? "" : sensorOf(participation.sensor.kind).unit;
    if (participation.typedIn) return;
    requestAnimationFrame((now) => this.#frame(now));
    matchMedia("(prefers-color-scheme: dark)").onchange = () => this.#draw();
  }

  /** @param {number} now */
  #frame(now) {
    if (this.#participation.end) return;
    const { sensing } = this.#participation.reader;
    if (sensing) {
      this.#draw();
      if (now - this.#describedAt > TEXT_MS) this.#describe(now);
    }
    // Animation frames alone would wake the graphics hardware 60 times a second.
    const wait = sensing && calm.matches ? CALM_FRAME_MS : FRAME_MS;
    setTimeout(() => requestAnimationFrame((next) => this.#frame(next)), wait);
  }

  #draw() {
    this.#drawCurve();
    this.#drawBars();
  }

  #drawCurve() {
    const { readings, sensor } = this.#participation.reader;
    const last = readings.at(-1);
    const first = readings[0];
    if (!last || !first) return;
    const pen = clear(this.#curve);
    const { width, height } = this.#curve;
    const values = readings.map(({ reading }) => reading);
    const low = Math.min(...values);
    const high = Math.max(...values);
    const middle = (low + high) / 2;
    const span = Math.max(high - low, Math.abs(middle) * STILL_SHARE, 1e-6);
    const seconds = Math.max(last.time - first.time, sensor.window / sensor.rate);
    const x = (/** @type {number} */ time) => width * (1 - (last.time - time) / seconds);
    const start = x(last.time - sensor.window / sensor.rate);
    pen.fillStyle = color(this.#curve, "--good-tint");
    pen.fillRect(start, 0, width - start, height);
    pen.strokeStyle = color(this.#curve, "--accent");
    pen.lineWidth = 2 * devicePixelRatio;
    pen.beginPath();
    for (const { time, reading } of readings) {
      pen.lineTo(x(time), height * (0.5 - (0.84 * (reading - middle)) / span));
    }
    pen.stroke();
  }

  #drawBars() {
    const { x, sensor } = this.#participation.reader;
    if (!x) return;
    const pen = clear(this.#bars);
    const { width, height } = this.#bars;
    // Bin 0 is the average, mostly gravity: cut its bar off so that the other bars can be seen.
    const seen = sensor.transform === "spectrum" && x.length > 1 ? x.subarray(1) : x;
    const most = Math.max(...seen.map(Math.abs), STILL_SHARE);
    const step = width / x.length;
    pen.fillStyle = color(this.#bars, "--accent");
    x.forEach((value, j) => {
      const tall = Math.max(Math.min(Math.abs(value) / most, 1) * height * 0.95, 1);
      pen.fillRect(j * step + step * 0.12, height - tall, step * 0.76, tall);
    });
  }

  /** @param {number} now */
  #describe(now) {
    const { readings, sensor, x } = this.#participation.reader;
    const last = readings.at(-1);
    if (!last) return;
    this.#describedAt = now;
    const shown = { value: number(last.reading, 3), unit: this.#unit };
    let text = say("Now {value} {unit}.", shown);
    if (x && sensor.transform !== "summary" && x.length > 1) {
      // The second half of a spectrum mirrors the first.
      const beats = [...x.subarray(1, Math.floor(sensor.window / 2) + 1)];
      const most = Math.max(...beats);
      const hertz = ((1 + beats.indexOf(most)) * sensor.rate) / sensor.window;
      const beat = say("Strongest beat: {hertz} a second.", { hertz: number(hertz, 2) });
      text += ` ${most > STILL_SHARE ? beat : say("It is still.")}`;
    }
    put("signal-text", text);
  }
}

/** @param {HTMLCanvasElement} canvas */
function clear(canvas) {
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/** @type {(element: HTMLElement, name: string) => string} */
function color(element, name) {
  return getComputedStyle(element).getPropertyValue(name);
}
