/** Export the browser device, which learns with a crowd, with exact local differential privacy. */

export { Agreement, taskEnded } from "./device/agreement.js";
export { errorNow, publicResults, describeContribution } from "./device/contribution.js";
export { Device, FINAL_REJECTIONS } from "./device/device.js";
export { limitsOf, readTerms } from "./device/enrolment.js";
export { describePersonalAccuracy, sharesOverTime } from "./device/personal_accuracy.js";
export { HttpTransport, serverRoot } from "./device/network/transport.js";
export { Outcome } from "./device/outcome.js";
export { Sensing, featuresOf } from "./device/sensing.js";
export { DeviceStore } from "./device/storage/store.js";
export { RetryTimer } from "./device/retry_timer.js";
export * from "./errors.js";
export { MECHANISMS, eventKindOf } from "./mechanisms/index.js";
export { MODELS } from "./models/index.js";
export { phrase, write } from "./phrase.js";
export { Chance } from "./privacy/chance.js";
export { checkinKeyOf } from "./privacy/checkin_key.js";
export { boundFeatures, checkTarget, targetOf } from "./privacy/features.js";
export { Ledger, lossOf, wholeLossOf } from "./privacy/ledger.js";
export { Loss } from "./privacy/loss.js";
export { Minibatch, chooseRows } from "./privacy/minibatch.js";
export { scaledFeatures } from "./protocol/features.js";
export { startPhrase } from "./protocol/start.js";
export { Terms, termsHash } from "./protocol/terms.js";
