/** Define the shapes of what modules pass to each other. Browsers never load them. */

import type { FEATURES } from "./columns.js";
import type { START } from "./start.js";

export type Columns = Omit<ReturnType<typeof FEATURES>, "description" | "sensor">;
export type Start = ReturnType<typeof START>;
export type { Ledger } from "./ledger.js";
export type { Loss } from "./loss.js";
export type { Minibatch } from "./minibatch.js";
export type { LinearModel } from "./models/linear.js";
export type { OutcomeName } from "./outcome.js";
export type { PrivacyPromise } from "./promise.js";
export type { Sensor } from "./sensor.js";
export type { DeviceStore } from "./store.js";
export type { Terms } from "./terms.js";
export type * from "./shapes/chance.js";
export type * from "./shapes/device.js";
export type * from "./shapes/direction.js";
export type * from "./shapes/mechanism.js";
export type * from "./shapes/memory.js";
export type * from "./shapes/model.js";
export type * from "./shapes/network.js";
export type * from "./shapes/noise.js";
export type * from "./shapes/phrase.js";
export type * from "./shapes/schema.js";
export type * from "./shapes/sensor.js";
