/** Sensors, and the samples that are taken from them. */

import type { Phrase } from "./phrase.js";

/** Takes a reading, and its time in seconds. */
export type OnReading = (time: number, reading: number) => void;

/** A sensor that is read: the exports of its module. */
export interface Source {
  readonly name: Phrase;
  readonly unit: string | Phrase;
  readonly typedIn?: false;
  supported(): boolean;
  /** Whether the sensor is there, as far as can be known without a permission. Nothing is kept. */
  present?(): Promise<boolean>;
  /** Asks for permission; must be called in a tap. */
  ask?(): Promise<void>;
  /** Reads until the function that it promises is called. */
  start(onReading: OnReading, options: { rate: number }): Promise<() => void>;
}

/** A sensor, or a form for numbers that participants enter. */
export type SensorKind = Source | { readonly typedIn: true };

/** A sample as it was taken. */
export interface TakenSample {
  /** In seconds. */
  time: number;
  window: number[];
  x: Float64Array<ArrayBuffer>;
  y: number;
}

/** The values of x in their own units: in the order of the columns, or by their names. */
export type Readings = ArrayLike<number | null> | Readonly<Record<string, number | null>>;
