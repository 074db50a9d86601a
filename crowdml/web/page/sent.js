/** What was sent: every check-in, byte for byte, beside the truth that stayed here. */

import { decodeGradient } from "../index.js";
import { any, count, make, number, put, row } from "./elements.js";
import { language, say } from "./say.js";

/** @import { Device } from "../index.js" */
/** @import { DirectionTruth, NoiseTruth, Sent } from "../types.js" */

const SHOWN = 6;

const ANSWERS = /** @type {Record<string, string>} */ ({
  applied: say("applied"),
  duplicate: say("applied (sent twice, counted once)"),
  waiting: say("waits to be sent"),
});

export class SentList {
  #device;
  /** @type {Map<string, HTMLElement>} */
  #answers = new Map();

  /** @param {Device} device */
  constructor(device) {
    this.#device = device;
    any("all-sent").addEventListener("click", () => any("sent").classList.remove("short"));
  }

  async render() {
    const history = await this.#device.history();
    put("n-sent", history.length ? count(history.length) : say("Nothing yet."));
    for (const sent of history) {
      let answer = this.#answers.get(sent.id);
      if (!answer) {
        answer = make("span");
        this.#answers.set(sent.id, answer);
        any("sent").prepend(this.#entry(sent, answer));
      }
      answer.textContent = ANSWERS[sent.answer] ?? refusal(sent.answer);
    }
  }

  /**
   * @param {Sent} sent
   * @param {HTMLElement} answer
   */
  #entry(sent, answer) {
    const { event } = sent;
    const what =
      event.unit === "sample"
        ? say("{n} samples", { n: count(event.nTraining + event.nHeldout) })
        : say("one number");
    const time = new Date(sent.time);
    const when = make("time", time.toLocaleString(language, { dateStyle: "short", timeStyle: "medium" }));
    when.dateTime = time.toISOString();
    const details = make("details", make("summary", when, ` · ${what} · `, answer));
    const open = () => details.append(...this.#contents(sent));
    details.addEventListener("toggle", open, { once: true });
    return make("li", details);
  }

  /** @param {Sent} sent */
  #contents({ body, truth }) {
    const text = new TextDecoder().decode(body);
    const message = JSON.parse(text);
    const noisy = "g" in truth;
    const rows = noisy ? this.#noisy(message, truth) : [this.#chosen(message, truth)];
    const head = make("tr", make("td"), make("th", say("true")), make("th", say("sent")));
    const table = make("table", make("caption", say("What stayed here, and what was sent instead")));
    table.append(make("thead", head), make("tbody", ...rows));
    const pre = make("pre", text);
    pre.tabIndex = 0;
    const chance = noisy ? [] : [make("p", chanceOf(truth))];
    return [table, ...chance, make("h4", say("The whole message, as it was sent")), pre];
  }

  /**
   * @param {{gradient: string, grid: number, labels: number[], errors: number}} message
   * @param {NoiseTruth} truth
   */
  #noisy(message, truth) {
    const { labels } = this.#device.terms.target;
    const gradient = decodeGradient(message.gradient, truth.g.length);
    const numbers = gradient.slice(0, SHOWN).map((u, j) => {
      const sent = u * 2 ** message.grid;
      return row(say("number {n}", { n: j + 1 }), fixed(truth.g[j] ?? NaN), fixed(sent));
    });
    const more = gradient.length - numbers.length;
    if (more > 0) numbers.push(row(say("… {n} more", { n: count(more) }), "", ""));
    const counts = truth.nLabels.map((n, k) =>
      row(labels[k] ?? String(k + 1), String(n), String(message.labels[k])),
    );
    const errors = row(say("wrong predictions"), String(truth.nErrors), String(message.errors));
    return [...numbers, errors, ...counts];
  }

  /**
   * @param {{direction: number, wrong?: number, answer?: number}} message
   * @param {DirectionTruth} truth
   */
  #chosen({ direction, wrong, answer }, { answer: truth, fits, best, numbers }) {
    if (wrong !== undefined) return row(say("the model about one sample"), judged(truth), judged(wrong));
    if (answer !== undefined) return row(say("the answer of one sample"), this.#label(truth), this.#label(answer));
    const values = { n: direction, best: count(best), numbers: count(numbers) };
    return row(
      say("direction"),
      best === 1
        ? say("the one of {numbers} that suits your samples best", values)
        : say("one of the {best} of {numbers} that suit your samples best", values),
      fits ? say("number {n}, which is one of them", values) : say("number {n}, which is not one of them", values),
    );
  }

  /** @param {number | undefined} answer */
  #label(answer) {
    return this.#device.terms.target.labels[answer ?? 0] ?? "";
  }
}

/** @param {number | undefined} wrong */
function judged(wrong) {
  return wrong ? say("wrong") : say("right");
}

/** @param {string} answer `refused: KIND`. */
function refusal(answer) {
  return say("refused: {kind}", { kind: answer.replace("refused: ", "") });
}

/** @param {DirectionTruth} truth */
function chanceOf({ chance, likely, unlikely }) {
  return say(
    "With your samples, the chance of this very number was {chance}. With any others, whatever they are, it would have been {unlikely} to {likely}.",
    { chance: percent(chance), unlikely: percent(unlikely), likely: percent(likely) },
  );
}

/** @param {number} share */
function percent(share) {
  return `${number(100 * share, 2)}\u00a0%`;
}

/** @param {number} value */
function fixed(value) {
  return value.toLocaleString(language, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
}
