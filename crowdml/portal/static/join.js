// On a phone this page is skipped: the link leads to consent. With #other it is shown all the same.

const phone = matchMedia("(hover: none) and (pointer: coarse)").matches;
if (phone && location.hash !== "#other") {
  location.replace(document.currentScript.dataset.consent + location.hash);
}
