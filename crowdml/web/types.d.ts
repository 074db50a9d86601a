/** Define the shapes of what modules pass to each other. Browsers never load them. */

import type { FEATURES } from "./protocol/features.js";
import type { START } from "./protocol/start.js";

export type Columns = Omit<ReturnType<typeof FEATURES>, "description" | "sensor">;
export type Start = ReturnType<typeof START>;
export type { OutcomeName } from "./device/outcome.js";
export type { DeviceStore } from "./device/storage/store.js";
export type { LinearModel } from "./models/linear.js";
export type { Ledger } from "./privacy/ledger.js";
export type { Loss } from "./privacy/loss.js";
export type { Minibatch } from "./privacy/minibatch.js";
export type { PrivacyPromise } from "./protocol/promise.js";
export type { Sensor } from "./protocol/sensor.js";
export type { Terms } from "./protocol/terms.js";
export type * from "./shapes/chance.js";
export type * from "./shapes/device.js";
export type * from "./shapes/direction.js";
export type * from "./shapes/mechanism.js";
export type * from "./shapes/model.js";
export type * from "./shapes/network.js";
export type * from "./shapes/noise.js";
export type * from "./shapes/phrase.js";
export type * from "./shapes/schema.js";
export type * from "./shapes/sensor.js";
export type * from "./shapes/storage.js";
