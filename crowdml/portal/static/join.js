// Skip this page on a phone and go to consent; the fragment #other shows the page anyway.

const phone = matchMedia("(hover: none) and (pointer: coarse)").matches;
if (phone && location.hash !== "#other") {
  location.replace(document.currentScript.dataset.consent + location.hash);
}
