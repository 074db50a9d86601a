/** Ask for consent: the device keeps exactly the text on the page, and no other. */

import { Rejected } from "../errors.js";
import { Device, Terms, TermsChanged, limitsOf, startPhrase, termsHash } from "../index.js";
import { isTypedIn, missing, sourceOf } from "../sensors/index.js";
import { secondsPerCheckin } from "./collection_time.js";
import { byId, count, durationText, element, epsilon, put, putAll, showError, showLevel } from "./elements.js";
import { say } from "./say.js";

/** @param {string} task */
export async function consent(task) {
  const { text, termsSha256 } = await readText();
  // Nobody can agree to a task that has ended.
  if (byId("consent-form").hidden) return new Promise(() => undefined);
  const terms = Terms.parse(text);
  const { start } = terms.model;
  byId("start-said").hidden = !start;
  if (start) put("start-said", say(startPhrase(start)));
  const invite = fillInvite();
  const sensor = terms.features.sensor ?? { kind: "" };
  const source = isTypedIn(sensor) ? undefined : await requireSensor(sensor.kind);
  const agree = element("agree", HTMLButtonElement);
  const checkins = findInput("checkins");
  const usual = terms.promise().checkins;
  const allowed = () => Math.max(1, Math.floor(checkins?.valueAsNumber || usual));
  const show = () => showLoss(terms, allowed());
  checkins?.addEventListener("input", show);
  // After Back or a reload, the browser restores the number that was typed in.
  addEventListener("pageshow", show);
  show();
  invite?.addEventListener("input", () => markInvite(invite, ""));
  agree.disabled = false;
  put("loading", "");
  return new Promise((resolve) => {
    byId("consent-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      agree.disabled = true;
      byId("trouble").hidden = true;
      try {
        // Before anything else: phones ask for the sensor only directly after a tap.
        await source?.ask?.();
        const device = await Device.join(task, {
          termsSha256,
          limits: limitsOf(terms, allowed()),
          acceptNoPrivacy: document.querySelector("#accept-no-privacy:checked") !== null,
          ...(invite ? { invite: invite.value.trim() } : {}),
        });
        history.replaceState(null, "", location.pathname);
        resolve(device);
      } catch (error) {
        agree.disabled = false;
        if (invite && error instanceof Rejected && error.kind === "invite-required") {
          markInvite(invite, say(error.phrase));
          invite.focus();
          return;
        }
        const changed = error instanceof TermsChanged;
        showError(changed ? say("The terms have changed. Load this page again to see them.") : error);
      }
    });
  });
}

/**
 * Do not ask people to agree who cannot collect. Phones have the sensors; a computer may lack them, so
 * try the sensor first.
 *
 * @param {string} kind
 */
async function requireSensor(kind) {
  try {
    const source = sourceOf(kind);
    const computer = !matchMedia("(any-pointer: coarse)").matches;
    if (computer && source.present && !(await source.present())) throw missing(source);
    return source;
  } catch (error) {
    byId("no-sensor").hidden = false;
    byId("consent-form").hidden = true;
    for (const limit of document.querySelectorAll(".limit")) limit.remove();
    throw error;
  }
}

/** @type {(terms: Terms, checkins: number) => void} */
function showLoss(terms, checkins) {
  const promise = terms.promise(checkins);
  if (promise.exact) return;
  showLevel("lose-level", promise);
  put("checkins-epsilon", `ε = ${epsilon(promise.epsilon)}`);
  putAll("leaves-short", promise.sendingInShort);
  putAll("leaves-said", promise.whatLeaves);
  putAll("lose-short", promise.lossInShort);
  putAll("lose-said", promise.whatIsLost);
  const seconds = secondsPerCheckin(terms);
  if (seconds && document.getElementById("total-time")) {
    put("total-time", durationText(seconds * checkins));
    put("total-checkins", count(checkins));
  }
}

/**
 * Fill in the invite code from the link. On a computer without the sensor, show the code to be typed in
 * on a phone: the QR code cannot contain it, because the server that draws it never sees the code.
 */
function fillInvite() {
  const invite = findInput("invite");
  // Keep a code that was typed in before this script ran.
  const code = new URLSearchParams(location.hash.slice(1)).get("invite");
  if (invite && code) {
    invite.value = code;
    put("no-sensor-invite", code);
    byId("no-sensor-invited").hidden = false;
  }
  return invite;
}

/**
 * Say beside the invite code what is wrong with it; clear the message while the code is changed.
 *
 * @type {(invite: HTMLInputElement, wrong: string) => void}
 */
function markInvite(invite, wrong) {
  put("invite-wrong", wrong);
  byId("invite-wrong").hidden = !wrong;
  invite.setAttribute("aria-invalid", String(Boolean(wrong)));
  if (wrong) invite.setAttribute("aria-describedby", "invite-wrong");
  else invite.removeAttribute("aria-describedby");
}

/** @type {(id: string) => HTMLInputElement | null} */
function findInput(id) {
  const found = document.getElementById(id);
  return found instanceof HTMLInputElement ? found : null;
}

async function readText() {
  const text = byId("terms-text").textContent ?? "";
  const termsSha256 = await termsHash(text);
  if (termsSha256 !== byId("page").dataset["sha256"]) {
    throw new TermsChanged("the terms on this page do not have the hash beside them. Do not join.");
  }
  put("terms-checked", say("Computed by this browser from the text below: they match."));
  return { text, termsSha256 };
}
