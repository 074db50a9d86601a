/** Export the browser device, which learns with a crowd, with exact local differential privacy. */

export { Agreement, taskEnded } from "./agreement.js";
export { errorNow, publicResults, describeContribution } from "./contribution.js";
export { Chance } from "./chance.js";
export { checkinKeyOf } from "./checkin_key.js";
export { makeFeatures } from "./columns.js";
export { Device, GIVE_UP_ON } from "./device.js";
export { limitsOf, readTerms } from "./enrolment.js";
export * from "./errors.js";
export { boundFeatures, checkTarget, targetOf } from "./features.js";
export { forYou, sharesOverTime } from "./for_you.js";
export { Ledger, lossOf, wholeLossOf } from "./ledger.js";
export { Loss } from "./loss.js";
export { MECHANISMS, eventKindOf } from "./mechanisms/index.js";
export { Minibatch, chooseRows } from "./minibatch.js";
export { MODELS } from "./models/index.js";
export { Outcome } from "./outcome.js";
export { phrase, write } from "./phrase.js";
export { Sensing, featuresOf } from "./sensing.js";
export { startPhrase } from "./start.js";
export { DeviceStore } from "./store.js";
export { Terms, termsHash } from "./terms.js";
export { HttpTransport, serverRoot } from "./transport.js";
export { Waiting } from "./waiting.js";
