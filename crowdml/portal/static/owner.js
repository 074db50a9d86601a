// A task file from the disk goes into the text field, where it can be read before it is sent.
const choice = /** @type {HTMLInputElement | null} */ (document.getElementById("file"));
const text = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("toml"));

if (choice && text) {
  choice.closest("[hidden]")?.removeAttribute("hidden");
  choice.addEventListener("change", async () => {
    const file = choice.files?.[0];
    if (file) text.value = await file.text();
  });
}

// The preview is there at once; how well the crowd will learn comes in when it is simulated.
const place = document.getElementById("plan");
const button = place?.querySelector("button");

if (place && button?.form && !place.querySelector("p")) {
  const label = button.textContent;
  button.disabled = true;
  button.textContent = "Simulating this crowd …";
  try {
    const typed = /** @type {Iterable<[string, string]>} */ (new FormData(button.form));
    const body = new URLSearchParams([...typed, ["do", "plan"]]);
    const answer = await fetch(button.form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("plan");
    if (!found) throw new Error("no plan in the answer");
    place.replaceChildren(...found.childNodes);
  } catch {
    button.disabled = false;
    button.textContent = label;
  }
}
