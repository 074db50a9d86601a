// Keep the page of a task live: its numbers and pictures follow the server's events.
// Without this script, everything on the page can be read.

import { language, say } from "../web/page/say.js";
import { errorInWords } from "../web/protocol/numbers_in_words.js";

const article = document.querySelector("article[data-task]");
const SOON_MS = 2000; // between the first rounds of pictures,
const LATE_MS = 30000; // and between two of someone who has looked on for a while
const AGAIN_MS = 5000; // before a new try to follow
const PICTURE_MS = 60000; // for one picture to arrive

// The same words as on the server.
const number = (v) => v.toLocaleString(language);

function stateOf({ state, version }) {
  if (state === "running") return version ? say("Running") : say("Recruiting");
  if (state === "paused") return say("Paused");
  if (state === "reached") return say("Reached its target");
  return state === "exhausted" ? say("Finished") : say("Stopped");
}

function show(name, text) {
  for (const element of article.querySelectorAll(`[data-live="${name}"]`)) {
    if (element.textContent !== text) element.textContent = text;
  }
}

// Pictures

const dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Read the new picture's title, and swap the picture when it is loaded, without flicker.
 * Return the title, or null if no picture came.
 */
async function replacePicture(picture, address) {
  const joined = address + (address.includes("?") ? "&" : "?");
  const shown = dark.matches ? `${joined}theme=dark` : address;
  const loader = new Image();
  try {
    const answer = await fetch(shown, { signal: AbortSignal.timeout(PICTURE_MS) });
    if (!answer.ok) return null;
    const says = titleOf(await answer.text());
    const figure = picture.closest("figure");
    const nothing = answer.headers.has("Crowdml-Nothing");
    figure?.classList.toggle("nothing", nothing);
    if (nothing) {
      figure.querySelector(".why").textContent = says;
      return says;
    }
    loader.src = shown;
    await loader.decode();
    picture.querySelector("source").srcset = `${joined}theme=dark`;
    picture.querySelector("img").src = address;
    picture.querySelector("img").alt = says;
    return says;
  } catch {
    return null;
  }
}

/** Find the title of an SVG without parsing it, since its styles would apply to this page. */
function titleOf(svg) {
  const title = svg.match(/<title>[^<]*<\/title>/)?.[0] ?? "";
  return new DOMParser().parseFromString(title, "text/html").title;
}

const visible = new Set();
let newest = Number(article?.dataset.version);
let drawing = false;
let pause = SOON_MS;

/** Redraw outdated pictures on the screen, with growing pauses. */
async function redraw() {
  if (drawing) return;
  drawing = true;
  for (;;) {
    const stale = [...visible].filter((picture) => Number(picture.dataset.version) !== newest);
    if (document.hidden || !stale.length) break;
    for (const picture of stale) {
      const version = newest;
      const says = await replacePicture(picture, `${picture.dataset.picture}?v=${version}`);
      if (says !== null) picture.dataset.version = String(version); // else try again next round
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(1.5 * pause, LATE_MS);
  }
  drawing = false;
}

const onScreen = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    const picture = target.querySelector("picture");
    if (isIntersecting) visible.add(picture);
    else visible.delete(picture);
  }
  redraw();
});
// A hidden picture, with nothing to draw yet, would never come into view.
for (const picture of document.querySelectorAll("picture[data-version]")) {
  onScreen.observe(picture.closest("figure"));
}
document.addEventListener("visibilitychange", redraw);

// Events

function update(statistics) {
  newest = statistics.version;
  show("devices", number(statistics.devices));
  show("version", number(statistics.version));
  if (statistics.samples !== null) show("samples", number(statistics.samples));
  show("error", say(errorInWords(statistics.error)));
  show("reports", number(statistics.reports));
  show("checkins", number(statistics.version));
  article.querySelector("progress").value = statistics.version;
  article.querySelector('[data-live="state"]').className = `state state-${statistics.state}`;
  show("state", stateOf(statistics));
  redraw();
  if (document.querySelector("#try:not(:has(#try-form))")) offerTryForm();
}

const ENDED = new Set(["reached", "exhausted", "stopped"]);

async function askOnce() {
  try {
    const answer = await fetch(article.dataset.events.replace(/events$/, "stats"));
    if (answer.ok) update(await answer.json());
  } catch {
    // The next attempt may succeed.
  }
}

const pauser = document.querySelector("#follow");
let events = null;

/** Let people pause updates, so that slow readers and listeners are not interrupted. */
function pauseOrResume() {
  if (!events) return follow();
  events.close();
  events = null;
  pauser.textContent = say("Resume updates");
  show("link", say("Updates are paused."));
}

function showFollowing(state) {
  if (state === "paused") show("link", say("Paused: no check-ins until it resumes."));
  else show("link", say("Live: this page follows every check-in."));
}

function follow() {
  events = new EventSource(article.dataset.events);
  pauser.textContent = say("Pause updates");
  pauser.hidden = false;
  const status = article.querySelector('[data-live="state"]');
  events.addEventListener("open", () =>
    showFollowing(status.classList.contains("state-paused") ? "paused" : ""),
  );
  events.addEventListener("statistics", (event) => {
    const statistics = JSON.parse(event.data);
    update(statistics);
    if (!ENDED.has(statistics.state)) showFollowing(statistics.state);
    else {
      events.close();
      pauser.hidden = true;
      show("link", say("The task has ended."));
      article.querySelector("[data-while-open]")?.remove();
    }
  });
  events.addEventListener("error", () => {
    if (!events) return;
    show("link", say("The connection is lost. This page tries again in a few seconds."));
    // A browser stops listening when it is rejected: too many listen, or a proxy answered. Ask
    // for the numbers instead, and try to listen again later.
    if (events.readyState === EventSource.CLOSED) {
      askOnce();
      setTimeout(() => events && follow(), AGAIN_MS);
    }
  });
}

if (article?.dataset.final === "no") {
  pauser.addEventListener("click", pauseOrResume);
  follow();
}

// Redraw the mechanism's picture when a slider moves or the browser has restored it.

const form = document.querySelector("#hiding");
if (form) {
  const picture = document.querySelector('picture[data-picture$="/hiding.svg"]');
  const caption = picture.closest("figure").querySelector("figcaption");
  const sliders = [...form.querySelectorAll("input")];
  let wanted = null;
  let busy = false;
  let turns = 0;
  const value = (slider) => {
    const exact = 10 ** Number(slider.value);
    return "whole" in slider.dataset ? Math.round(exact) : Number(exact.toPrecision(2));
  };
  const inWords = (slider, shown) => {
    if ("whole" in slider.dataset) return shown;
    const levels = JSON.parse(slider.dataset.levels);
    return `${shown}: ${levels.find(([most]) => value(slider) <= most)[1]}`;
  };
  const draw = async () => {
    for (const slider of sliders) {
      const shown = value(slider).toLocaleString(language, { maximumSignificantDigits: 4 });
      slider.closest(".slider").querySelector("output").textContent = shown;
      slider.setAttribute("aria-valuetext", inWords(slider, shown));
    }
    const settings = sliders.map((slider) => `${slider.name}=${value(slider)}`);
    if (turns) settings.push(`again=${turns}`);
    wanted = `${picture.dataset.picture}?${settings.join("&")}`;
    if (busy) return;
    busy = true;
    while (wanted) {
      const address = wanted;
      wanted = null;
      const says = await replacePicture(picture, address);
      if (says) caption.textContent = says;
    }
    busy = false;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", draw);
  form.querySelector("button")?.addEventListener("click", () => {
    turns++;
    draw();
  });
  addEventListener("pageshow", () => {
    const moved = (slider) => Math.abs(slider.value - slider.defaultValue) > slider.step;
    if (sliders.some(moved)) draw();
  });
}

// Load the program to try the model when its place comes into view.

function watchTryForm() {
  const form = document.querySelector("#try-form");
  if (!form) return;
  const loading = () => import("../web/page/try_model.js");
  const seen = new IntersectionObserver((changes) => {
    if (!changes.some(({ isIntersecting }) => isIntersecting)) return;
    seen.disconnect();
    loading();
  });
  seen.observe(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { predict } = await loading();
    predict(form, document.querySelector("#prediction"));
  });
}

let offering = false;

/** Show the form to try the model as soon as something is learnt. */
async function offerTryForm() {
  if (offering) return;
  offering = true;
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.querySelector("#try-form")) document.querySelector("#try").replaceWith(page.querySelector("#try"));
    watchTryForm();
  } catch {
    // The next check-in tries again.
  }
  offering = false;
}

watchTryForm();
