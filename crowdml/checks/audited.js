/**
 * Make check-ins for an audit with the browser's device: read one object from standard input, and
 * write the bodies of check-ins, from each side in turn, one on each line.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** @import { Chance as Source } from "../web/types.js" */

const web = pathToFileURL(`${process.argv[2]}/index.js`);
const { Agreement, Chance, Ledger, boundFeatures, checkTarget } =
  /** @type {typeof import("../web/index.js")} */ (await import(web.href));

const { agreed, heldout, number, w, sides, trials } = JSON.parse(readFileSync(0, "utf8"));
const agreement = await Agreement.of({
  ...agreed,
  limits: { perSample: Infinity, perDevice: Infinity },
});
let ledger = new Ledger();
let approval = await agreement.approve(ledger, sides[0].length);
while (approval.key.number < number) {
  ledger = new Ledger([...ledger.events, approval.event]);
  approval = await agreement.approve(ledger, sides[0].length);
}
const system = new Chance();
/**
 * Set aside always the first samples, so that only the noise is random.
 *
 * @type {Source}
 */
const first = {
  below: () => 0,
  randomId: () => system.randomId(),
  addLaplace: (values, amount) => system.addLaplace(values, amount),
  addGaussian: (values, amount) => system.addGaussian(values, amount),
};
const chance = heldout ? first : system;

/** @param {[number, number][]} samples */
function body(samples) {
  const { norm, terms } = agreement;
  const x = samples.map(([x]) => boundFeatures([x], terms.features.count, norm));
  const y = samples.map(([, y]) => checkTarget(y, terms.nClasses));
  const parameters = { w: Float64Array.from(w), exported: null };
  const written = agreement.write(approval, 0, parameters, x, y, ledger, chance);
  return new TextDecoder().decode(written?.checkin.body);
}

for (let i = 0; i < trials; i++) process.stdout.write(`${sides.map(body).join("\n")}\n`);
