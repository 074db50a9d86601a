// Help with the form that creates a task; without this script, the form works with its buttons.

import { say } from "../web/page/say.js";

// Put a task file from the disk into the text field, to be read before it is sent.
const choice = /** @type {HTMLInputElement | null} */ (document.getElementById("file"));
const text = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("toml"));

if (choice && text) {
  choice.closest("[hidden]")?.removeAttribute("hidden");
  choice.addEventListener("change", async () => {
    const file = choice.files?.[0];
    if (file) text.value = await file.text();
  });
}

// Show how well the crowd will learn as soon as it is simulated; the preview asks by itself.

/**
 * @param {HTMLElement} container
 * @param {HTMLButtonElement} button
 */
async function simulate(container, button) {
  const { form, textContent: label } = button;
  if (!form) return;
  const focused = document.activeElement === button;
  button.disabled = true;
  button.textContent = say("Simulating this crowd …");
  try {
    const typed = /** @type {Iterable<[string, string]>} */ (new FormData(form));
    const body = new URLSearchParams([...typed, ["do", "plan"]]);
    const answer = await fetch(form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("plan");
    if (found) {
      container.replaceChildren(...found.childNodes);
      if (focused) container.focus();
      return;
    }
    // The task is wrong or the session has ended: let the whole page say it.
    if (page.querySelector("[role=alert], [type=password]")) button.dataset["shown"] = "yes";
  } catch {
    // The button asks again.
  }
  button.disabled = false;
  button.textContent = label;
  if (button.dataset["shown"]) button.click();
}

for (const container of /** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll("[data-plan]")
)) {
  const first = container.querySelector("button");
  container.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("button");
    if (button?.value !== "plan" || button.dataset["shown"]) return;
    event.preventDefault();
    simulate(container, button);
  });
  if (first && "atOnce" in container.dataset) simulate(container, first);
}
