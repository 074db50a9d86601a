/** Show how well the crowd's model works for the participant: a sentence, and a small chart. */

import { describePersonalAccuracy, sharesOverTime } from "../index.js";
import { make } from "./elements.js";
import { say } from "./say.js";

/** @import { Terms } from "../protocol/terms.js" */
/** @import { SentCheckin } from "../types.js" */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const CHART_HEIGHT = 24;
const BAR_STEP = 8;
/** With fewer bars there is no chart. */
const FEWEST_BARS = 5;

/**
 * Write the sentence and the chart in every place for them. They never leave the page.
 *
 * @type {(terms: Terms, history: readonly SentCheckin[], ended: boolean) => void}
 */
export function renderPersonalAccuracy(terms, history, ended) {
  const tallies = history.map(({ tally }) => tally ?? { right: 0, samples: 0 });
  const said = describePersonalAccuracy(tallies, terms.nClasses ? null : terms.model.tolerance);
  const text = said ? say(said) : ended ? say("Not known: too few of your samples were used.") : waitingText(history);
  const shares = sharesOverTime(tallies);
  const state = `${text} ${shares.map(percent)}`;
  for (const container of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-personal-accuracy]"))) {
    if (container.dataset["personalAccuracy"] === state) continue;
    container.dataset["personalAccuracy"] = state;
    container.replaceChildren(make("p", text), ...(said && shares.length >= FEWEST_BARS ? [drawChart(shares), makeCaption()] : []));
  }
}

function makeCaption() {
  const made = make("p", say("Over time: the higher a bar, the more often the model was right."));
  made.className = "quiet";
  return made;
}

/** @param {readonly SentCheckin[]} history */
function waitingText(history) {
  return history.length
    ? say("Known as soon as the crowd’s model has learnt something.")
    : say("Known after your first check-in.");
}

/** @param {readonly number[]} shares */
function drawChart(shares) {
  const picture = document.createElementNS(SVG_NAMESPACE, "svg");
  const width = BAR_STEP * shares.length;
  const ends = { first: percent(shares[0]), last: percent(shares.at(-1)) };
  setAttributes(picture, {
    viewBox: `0 0 ${width} ${CHART_HEIGHT}`,
    class: "accuracy-chart",
    role: "img",
    "aria-label": say("Over time: {first} % right at first, {last} % now", ends),
  });
  shares.forEach((share, i) => {
    const bar = document.createElementNS(SVG_NAMESPACE, "rect");
    const height = Math.max(1, share * CHART_HEIGHT);
    setAttributes(bar, { x: BAR_STEP * i, y: CHART_HEIGHT - height, width: BAR_STEP - 2, height });
    picture.append(bar);
  });
  return picture;
}

/** @type {(element: Element, attributes: Record<string, string | number>) => void} */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** @param {number | undefined} share */
const percent = (share = 0) => Math.round(100 * share);
