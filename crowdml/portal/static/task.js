// The page of a task, live: numbers and pictures follow the server's events.
// Everything on it can be read without this script.

const article = document.querySelector("article[data-task]");
const LEAST_MS = 2000; // between two rounds of pictures
const AGAIN_MS = 5000; // before a new try to follow

// The same words as on the server.
const count = (n) => n.toLocaleString("en-US");
const percent = (v, digits) => `${(100 * v).toFixed(digits)}\u00a0%`.replace("-", "−");

function estimate(value) {
  if (!value) return "not known yet";
  if (value.margin >= 1) return "too uncertain so far";
  const margin = 100 * value.margin;
  const digits = margin < 1 ? 1 : 0;
  return `${percent(value.value, digits)}\u00a0±\u00a0${margin.toFixed(digits)}`;
}

const STATES = {
  running: "Running",
  paused: "Paused",
  reached: "Reached its target",
  exhausted: "Finished",
  stopped: "Stopped",
};

function show(name, text) {
  for (const element of article.querySelectorAll(`[data-live="${name}"]`)) {
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Load the new picture first and swap it in when it is there, so that nothing flickers. */
async function replacePicture(picture, address) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const joined = address + (address.includes("?") ? "&" : "?");
  const loader = new Image();
  loader.src = dark ? `${joined}theme=dark` : address;
  try {
    await loader.decode();
  } catch {
    return;
  }
  picture.querySelector("source").srcset = `${joined}theme=dark`;
  picture.querySelector("img").src = address;
}

let drawnFor = -1;
let drawing = false;

async function redraw(version) {
  if (drawing || version === drawnFor) return;
  drawing = true;
  drawnFor = version;
  for (const picture of article.querySelectorAll(".charts picture[data-picture]")) {
    await replacePicture(picture, `${picture.dataset.picture}?v=${version}`);
    const title = picture.closest("figure").querySelector("h3").textContent;
    picture.querySelector("img").alt = `${title} after ${count(version)} check-ins`;
  }
  await new Promise((resolve) => setTimeout(resolve, LEAST_MS));
  drawing = false;
  if (newest !== drawnFor) redraw(newest);
}

let newest = -1;

function update(statistics) {
  newest = statistics.version;
  show("devices", count(statistics.devices));
  show("version", count(statistics.version));
  if (statistics.samples !== null) show("samples", count(statistics.samples));
  show("error", estimate(statistics.recent_error ?? statistics.error));
  for (const bar of article.querySelectorAll('progress[data-live="progress"]')) {
    bar.value = statistics.version;
  }
  const recruiting = statistics.state === "running" && statistics.version === 0;
  for (const badge of article.querySelectorAll('[data-live="state"]')) {
    badge.className = `state state-${statistics.state}`;
    badge.textContent = recruiting ? "Recruiting" : STATES[statistics.state];
  }
  redraw(statistics.version);
}

const ENDED = new Set(["reached", "exhausted", "stopped"]);

async function askOnce() {
  try {
    const answer = await fetch(article.dataset.events.replace(/events$/, "stats"));
    if (answer.ok) update(await answer.json());
  } catch {
    // The next try will tell.
  }
}

function follow() {
  const events = new EventSource(article.dataset.events);
  events.addEventListener("open", () => show("link", "Live: this page follows every check-in."));
  events.addEventListener("statistics", (event) => {
    const statistics = JSON.parse(event.data);
    update(statistics);
    if (ENDED.has(statistics.state)) {
      events.close();
      show("link", "The task has ended.");
      article.querySelector("[data-while-open]")?.remove();
    }
  });
  events.addEventListener("error", () => {
    show("link", "The connection is lost; trying again …");
    // A browser gives up by itself when it is refused: too many listen, or something in front
    // answers in the server's place. Ask instead, and try again later.
    if (events.readyState === EventSource.CLOSED) {
      askOnce();
      setTimeout(follow, AGAIN_MS);
    }
  });
}

if (article && article.dataset.final === "no") follow();

// The picture of how the mechanism hides follows its sliders.

const form = document.querySelector("#hiding");
if (form) {
  const picture = document.querySelector('picture[data-picture$="/hiding.svg"]');
  const sliders = [...form.querySelectorAll("input")];
  let wanted = null;
  let busy = false;
  const value = (slider) => {
    const exact = 10 ** Number(slider.value);
    return "whole" in slider.dataset ? Math.round(exact) : Number(exact.toPrecision(2));
  };
  const draw = async () => {
    if (busy) return;
    busy = true;
    while (wanted) {
      const address = wanted;
      wanted = null;
      await replacePicture(picture, address);
    }
    busy = false;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    for (const slider of sliders) {
      slider.closest("label").querySelector("output").textContent = String(value(slider));
    }
    const settings = sliders.map((slider) => `${slider.name}=${value(slider)}`).join("&");
    wanted = `${picture.dataset.picture}?${settings}`;
    draw();
  });
}
