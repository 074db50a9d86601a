/** Join a task: read the terms, decide, pin them, get a token. */

import { NotPrivate, TermsChanged, Unreachable } from "../errors.js";
import { Chance } from "../privacy/chance.js";
import { checkLimits } from "../privacy/ledger.js";
import { Terms, termsHash } from "../protocol/terms.js";

/** @import { Identity, Limits, TaskView, Transport, JoinOptions } from "../types.js" */

/**
 * Return the usual limits: one use of each sample, and a bounded number of check-ins.
 *
 * @type {(terms: Terms, checkins?: number) => Limits}
 */
export function limitsOf(terms, checkins = terms.promise().checkins) {
  const { loss } = terms;
  return { perSample: loss.total, perDevice: loss.times(checkins).total };
}

/**
 * Read the terms in a task's description, which must carry the task's name and their own hash.
 *
 * @param {TaskView} view
 * @param {string} task
 */
export async function readTerms(view, task) {
  const terms = Terms.parse(view.terms);
  const termsSha256 = await termsHash(terms.text);
  if (terms.task !== task || termsSha256 !== view.terms_sha256) {
    throw new TermsChanged(
      "the terms of {task} do not carry its name and hash. Do not join this task.",
      { task },
    );
  }
  return { terms, termsSha256 };
}

/**
 * Enrol, and return a new identity; nothing is kept unless everything succeeds.
 *
 * @type {(transport: Transport, url: string, task: string, joinOptions: JoinOptions) => Promise<Identity>}
 */
export async function enrol(transport, url, task, joinOptions) {
  const { invite, limits, acceptNoPrivacy = false } = joinOptions;
  const { terms, termsSha256 } = await readTerms(await transport.task(), task);
  const chosen = checkLimits(limits ?? limitsOf(terms));
  if (joinOptions.termsSha256 && joinOptions.termsSha256 !== termsSha256) {
    throw new TermsChanged(
      "the terms must have the hash {wanted}, found {found}. Read them before joining.",
      { wanted: joinOptions.termsSha256, found: termsSha256 },
    );
  }
  if (!terms.private && !acceptNoPrivacy) {
    throw new NotPrivate(
      "the task {task} is NOT PRIVATE. {why} To join all the same, accept that by name.",
      { task, why: terms.promise().sentences["not_private"] ?? "" },
    );
  }
  const message = { terms: termsSha256, ...(invite ? { invite } : {}) };
  const { device, token } = await transport.enrol(message);
  // The name becomes part of a hashed text, and the token part of a header.
  if (![device, token].every((text) => /^[!-~]{1,200}$/.test(text))) {
    throw new Unreachable("the server gives no name and token that make sense.");
  }
  const record = new Chance().token();
  return { url, task, device, token, terms: terms.text, limits: chosen, ended: null, record };
}
