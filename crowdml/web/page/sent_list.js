/** Show every check-in that was sent, byte for byte, beside the true values of this session. */

import { REJECTED } from "../device/exchange.js";
import { eventKindOf } from "../index.js";
import { countOf, probabilityInWords } from "../protocol/numbers_in_words.js";
import { byId, make, put, row } from "./elements.js";
import { language, say } from "./say.js";

/** @import { Device } from "../index.js" */
/** @import { Cell, ChoiceProbabilities, SentCheckin } from "../types.js" */

const ANSWERS = /** @type {Record<string, string>} */ ({
  applied: say("used"),
  duplicate: say("used (sent twice, counted once)"),
  waiting: say("waits to be sent"),
  copy: say("sent by another copy of this device"),
});

export class SentList {
  #device;
  /** @type {Map<string, HTMLElement>} */
  #answers = new Map();

  /** @param {Device} device */
  constructor(device) {
    this.#device = device;
    byId("all-sent").addEventListener("click", () => byId("sent").classList.remove("short"));
  }

  /** @param {readonly SentCheckin[]} history */
  render(history) {
    put("n-sent", history.length ? say(countOf("check-in", history.length)) : say("Nothing yet."));
    for (const sent of history) {
      let answer = this.#answers.get(sent.id);
      if (!answer) {
        answer = make("span");
        this.#answers.set(sent.id, answer);
        byId("sent").prepend(this.#entry(sent, answer));
      }
      answer.textContent = ANSWERS[sent.answer] ?? rejectionText(sent.answer);
    }
  }

  /** @type {(sent: SentCheckin, answer: HTMLElement) => HTMLLIElement} */
  #entry(sent, answer) {
    const what = say(eventKindOf(sent.event).summary(sent.event));
    const time = new Date(sent.time);
    const when = make("time", time.toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" }));
    when.dateTime = time.toISOString();
    const details = make("details", make("summary", when, ` · ${what} · `, answer));
    const open = () => details.append(...this.#contents(sent));
    details.addEventListener("toggle", open, { once: true });
    return make("li", details);
  }

  /** @param {SentCheckin} sent */
  #contents({ event, body, truth }) {
    const text = new TextDecoder().decode(body);
    if (!text) {
      const why = say("Another copy of this device has sent it: what it was is not known here.");
      return [make("p", why)];
    }
    const pre = make("pre", text);
    pre.tabIndex = 0;
    const whole = [make("h3", say("The whole message, as it was sent")), pre];
    if (!truth) {
      const why = say("What it was made from is not kept: it was here only while that page was open.");
      return [make("p", why), ...whole];
    }
    const { labels } = this.#device.terms.target;
    const { rows, probabilities } = eventKindOf(event).shown(JSON.parse(text), truth, labels);
    const head = make("tr", make("td"), make("th", say("true")), make("th", say("sent")));
    const name = say("What stayed here, and what was sent instead");
    const table = make("table", make("caption", name));
    table.append(make("thead", head), make("tbody", ...rows.map(([what, ...cells]) => row(cell(what), ...cells.map(cell)))));
    const likely = probabilities ? [make("p", probabilityText(probabilities))] : [];
    return [scrolling(table, name), ...likely, ...whole];
  }
}

/**
 * Let a table that is wider than the screen scroll, also by keyboard.
 *
 * @type {(table: HTMLTableElement, name: string) => HTMLDivElement}
 */
function scrolling(table, name) {
  const made = Object.assign(make("div", table), { className: "scroll", tabIndex: 0 });
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", name);
  return made;
}

/** @param {string} answer `rejected: KIND`. */
function rejectionText(answer) {
  return say("rejected: {kind}", { kind: answer.replace(REJECTED, "") });
}

/** @param {ChoiceProbabilities} probabilities */
function probabilityText({ probability, likely, unlikely }) {
  return say(
    "How likely was this very number? With your samples: {chance}. With any others, whatever they are: from {unlikely} to {likely}.",
    {
      chance: probabilityInWords(probability),
      unlikely: probabilityInWords(unlikely),
      likely: probabilityInWords(likely),
    },
  );
}

/** @param {Cell} content */
function cell(content) {
  if (typeof content === "string") return content;
  if (typeof content === "object") return say(content);
  const digits = { minimumFractionDigits: 4, maximumFractionDigits: 4 };
  return (Math.abs(content) < 5e-5 ? 0 : content).toLocaleString(language, digits);
}
