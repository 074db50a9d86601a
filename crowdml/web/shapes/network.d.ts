/** What a device and its server send to each other. */

import type { CHECKIN_ANSWER, CHECKOUT, ENROLLED, TASK } from "../device/network/transport.js";

export type TaskView = ReturnType<typeof TASK>;

export type Enrolled = ReturnType<typeof ENROLLED>;

export type Checkout = ReturnType<typeof CHECKOUT>;

export type CheckinAnswer = ReturnType<typeof CHECKIN_ANSWER>;

export interface Enrol {
  terms: string;
  invite?: string;
}

/** The parameters, and the hash of the terms on which the server now accepts check-ins. */
export interface CheckedOut {
  checkout: Checkout;
  termsSha256: string;
}

/** What was checked out, decoded: `exported` is null where it is w itself. */
export interface Parameters {
  w: Float64Array;
  exported: Float64Array | null;
}

/**
 * What a device needs from a server. Each call returns the answer, throws `Rejected` when the
 * server said no, or `Unreachable` when it may be tried again. `checkin` takes bytes, so that a
 * retry sends the same bytes.
 */
export interface Transport {
  task(): Promise<TaskView>;
  enrol(message: Enrol): Promise<Enrolled>;
  /** The parameters for a check-in of this role. */
  checkout(token: string, role?: string): Promise<CheckedOut>;
  checkin(token: string, body: Uint8Array<ArrayBuffer>): Promise<CheckinAnswer>;
  leave(token: string): Promise<void>;
  close(): void;
}

/** A request of a transport. */
export interface RequestOptions {
  method?: string;
  token?: string;
  body?: BodyInit;
  etag?: string | null;
}
