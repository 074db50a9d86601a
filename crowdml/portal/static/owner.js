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
