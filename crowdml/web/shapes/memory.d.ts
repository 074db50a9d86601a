/** What a device remembers. */

import type { Ledger } from "../ledger.js";
import type { Chance } from "./chance.js";
import type { CheckinEvent, Place } from "./mechanism.js";
import type { Rows } from "./model.js";
import type { Parameters } from "./network.js";
import type { End } from "./phrase.js";

/** How much ε the participant allows. */
export interface Limits {
  /** For any single sample. */
  readonly perSample: number;
  /** For the device, over all its check-ins. */
  readonly perDevice: number;
}

/** What a participant agreed to, as the device that the server named. */
export interface Agreed {
  device: string;
  terms: string;
  limits: Limits;
}

/** Who the device is, where it takes part and what it agreed to. */
export interface Identity extends Agreed {
  url: string;
  task: string;
  token: string;
  ended: End | null;
}

/** A sanitised check-in that waits to be sent, with the exact bytes of its body. */
export interface WrittenCheckin {
  readonly id: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A check-in that the ledger has approved, made once and spent exactly as it is. */
export interface Approval {
  place: Place;
  event: CheckinEvent;
  /** How many samples it uses: the oldest ones in the buffer. */
  nSamples: number;
}

/** A check-in, what it tells, and the truth behind it, which stays on the device. */
export interface Written {
  checkin: WrittenCheckin;
  event: CheckinEvent;
  truth: object;
}

/** Writes a check-in of the samples that were approved, with the parameters of this version. */
export type WriteLetter = (
  approval: Approval,
  version: number,
  parameters: Parameters,
  x: Rows,
  y: readonly number[],
  ledger: Ledger,
  chance: Chance,
) => Written | undefined;

/** Turns stored samples into a check-in, if the stored identity allows it. */
export type Sanitize = (
  x: Float64Array[],
  y: number[],
  ledger: Ledger,
  identity: Identity | undefined,
) => Written | undefined;

/** One check-in as the participant may see it. */
export interface Sent {
  id: string;
  /** When it was written, in milliseconds since 1970. */
  time: number;
  event: CheckinEvent;
  /** What was sent, byte for byte. */
  body: Uint8Array<ArrayBuffer>;
  /** What is hidden. It never leaves the device. */
  truth: object;
  /** `waiting`, `applied`, `duplicate` or `refused: KIND`. */
  answer: string;
}
