/** Consent: nothing is pinned but the very text on the page. */

import { Device, Terms, TermsChanged, defaultCheckins, limitsOf, termsHash } from "../index.js";
import { sourceOf } from "../sensors/index.js";
import { any, complain, element, epsilon, input, put } from "./elements.js";

/** @param {string} task */
export async function consent(task) {
  const { text, termsSha256 } = await readText();
  const terms = Terms.parse(text);
  const { kind } = terms.features.sensor ?? { kind: "" };
  const source = kind === "manual" ? undefined : sourceOf(kind);
  const agree = element("agree", HTMLButtonElement);
  const checkins = input("checkins");
  const count = () => Math.max(1, Math.floor(checkins.valueAsNumber || defaultCheckins(terms)));
  const showLimit = () => put("checkins-epsilon", `ε = ${epsilon(terms.epsilonAfter(count()))}`);
  checkins.addEventListener("input", showLimit);
  showLimit();
  const invite = /** @type {HTMLInputElement | null} */ (document.getElementById("invite"));
  if (invite) invite.value = new URLSearchParams(location.hash.slice(1)).get("invite") ?? "";
  agree.disabled = false;
  return new Promise((resolve) => {
    any("consent-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      agree.disabled = true;
      any("trouble").hidden = true;
      try {
        // First, while the tap still counts: phones ask for the sensor only then.
        await source?.ask?.();
        const device = await Device.join(task, {
          termsSha256,
          limits: limitsOf(terms, count()),
          acceptNoPrivacy: document.querySelector("#accept-no-privacy:checked") !== null,
          ...(invite ? { invite: invite.value.trim() } : {}),
        });
        history.replaceState(null, "", location.pathname);
        resolve(device);
      } catch (error) {
        agree.disabled = false;
        const changed = error instanceof TermsChanged;
        complain(changed ? `${error.message} Load this page again to see them.` : error);
      }
    });
  });
}

async function readText() {
  const text = any("terms-text").textContent ?? "";
  const termsSha256 = await termsHash(text);
  if (termsSha256 !== any("page").dataset["sha256"]) {
    throw new TermsChanged("the terms on this page do not have the hash beside them. Do not join.");
  }
  put("terms-checked", "Computed by this browser from the text below: they match.");
  return { text, termsSha256 };
}
