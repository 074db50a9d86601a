/** Types of `device/storage`: what a device stores. */

import type { Ledger } from "../privacy/ledger.js";
import type { Chance } from "./chance.js";
import type { CheckinEvent, CheckinKey } from "./mechanism.js";
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
export interface AgreedTerms {
  device: string;
  terms: string;
  limits: Limits;
}

/** Who the device is, where it takes part and what it agreed to. */
export interface Identity extends AgreedTerms {
  url: string;
  task: string;
  token: string;
  ended: End | null;
  /** A random name, known to this browser alone, for what the device has sent: see `device/storage/record.js`. */
  record: string;
}

/** A sanitised check-in that waits to be sent, with the exact bytes of its body. */
export interface WrittenCheckin {
  readonly id: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A check-in of the ledger. */
export interface LedgerLine {
  readonly checkin: string;
  readonly event: CheckinEvent;
}

/** A check-in that the ledger has approved, made once and spent exactly as it is. */
export interface Approval {
  key: CheckinKey;
  event: CheckinEvent;
  /** How many samples it uses: the oldest in the buffer. */
  nSamples: number;
}

/** Of the samples of one check-in, how many the crowd's model was right about. */
export interface RightCount {
  right: number;
  samples: number;
}

/** A check-in, what it sends, and the truth behind it, which stays on the device. */
export interface ReleasedCheckin {
  checkin: WrittenCheckin;
  event: CheckinEvent;
  truth: object;
  /** For the participant alone. */
  tally?: RightCount;
}

/** The error of the crowd's model after `version` check-ins, as it was estimated then. */
export interface PastError {
  version: number;
  value: number;
  margin: number;
}

/** What anybody may read of a task. */
export interface PublicResults {
  state: string;
  /** Whether the task has ended. */
  final: boolean;
  version: number;
  devices: number;
  error: { value: number; margin: number } | null;
  errors: readonly PastError[];
}

/** What the device keeps of a task for times without a network; leaving erases it. */
export interface Kept {
  results?: PublicResults;
  /** The learnt model, as the server exports it. */
  model?: string;
}

/** Writes a check-in of the samples that were approved, with the parameters of this version. */
export type WriteCheckin = (
  approval: Approval,
  version: number,
  parameters: Parameters,
  x: Rows,
  y: readonly number[],
  ledger: Ledger,
  chance: Chance,
) => ReleasedCheckin | undefined;

/** Turns stored samples into a check-in, if the stored identity allows it. */
export type WriteFromBuffer = (
  x: Float64Array[],
  y: number[],
  ledger: Ledger,
  identity: Identity | undefined,
) => ReleasedCheckin | undefined;

/** One check-in as the participant may see it. */
export interface SentCheckin {
  id: string;
  /** When it was written, in milliseconds since 1970. */
  time: number;
  event: CheckinEvent;
  /** What was sent, byte for byte; nothing if another copy of the device has sent it. */
  body: Uint8Array<ArrayBuffer>;
  /** What is hidden, while the session lasts in which it was sent. It never leaves the device. */
  truth: object | null;
  /** Of its samples, how many the crowd's model was right about. It never leaves the device. */
  tally?: RightCount;
  /** Which check-in of the task it is, once the server has answered. */
  version?: number;
  /** `waiting`, `applied`, `duplicate`, `copy` or `rejected: KIND`. */
  answer: string;
}
