/** What was sent: every check-in, byte for byte, beside the truth that stayed here. */

import { decodeGradient } from "../index.js";
import { any, make, put, row } from "./elements.js";

/** @import { Device } from "../index.js" */
/** @import { DirectionTruth, NoiseTruth, Sent } from "../types.js" */

const SHOWN = 6;

const ANSWERS = /** @type {Record<string, string>} */ ({
  applied: "applied",
  duplicate: "applied (sent twice, counted once)",
  waiting: "waits to be sent",
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
    put("n-sent", history.length ? String(history.length) : "Nothing yet.");
    for (const sent of history) {
      let answer = this.#answers.get(sent.id);
      if (!answer) {
        answer = make("span");
        this.#answers.set(sent.id, answer);
        any("sent").prepend(this.#entry(sent, answer));
      }
      answer.textContent = ANSWERS[sent.answer] ?? sent.answer;
    }
  }

  /**
   * @param {Sent} sent
   * @param {HTMLElement} answer
   */
  #entry(sent, answer) {
    const { event } = sent;
    const what =
      event.unit === "sample" ? `${event.nTraining + event.nHeldout} samples` : "one number";
    const time = new Date(sent.time);
    const when = make("time", time.toLocaleString([], { dateStyle: "short", timeStyle: "medium" }));
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
    const head = make("tr", make("td"), make("th", "true"), make("th", "sent"));
    const table = make("table", make("caption", "What stayed here, and what was sent instead"));
    table.append(make("thead", head), make("tbody", ...rows));
    const pre = make("pre", text);
    pre.tabIndex = 0;
    const chance = noisy ? [] : [make("p", chanceOf(truth))];
    return [table, ...chance, make("h4", "The whole message, as it was sent"), pre];
  }

  /**
   * @param {{gradient: string, grid: number, labels: number[], errors: number}} message
   * @param {NoiseTruth} truth
   */
  #noisy(message, truth) {
    const { labels } = this.#device.terms.target;
    const gradient = decodeGradient(message.gradient, truth.g.length);
    const numbers = gradient.slice(0, SHOWN).map((u, j) => {
      const sent = (u * 2 ** message.grid).toFixed(4);
      return row(`number ${j + 1}`, (truth.g[j] ?? NaN).toFixed(4), sent);
    });
    const more = gradient.length - numbers.length;
    if (more > 0) numbers.push(row(`… ${more} more`, "", ""));
    const counts = truth.nLabels.map((n, k) =>
      row(labels[k] ?? `label ${k + 1}`, String(n), String(message.labels[k])),
    );
    const errors = row("wrong predictions", String(truth.nErrors), String(message.errors));
    return [...numbers, errors, ...counts];
  }

  /**
   * @param {{direction: number, report: number}} message
   * @param {DirectionTruth} truth
   */
  #chosen({ direction, report }, { answer, fits, best, numbers }) {
    if (answer !== undefined) return row("one sample", this.#report(answer), this.#report(report));
    const which = best === 1 ? ["the one", "it"] : [`one of the ${best}`, "one of them"];
    return row(
      "direction",
      `${which[0]} of ${numbers.toLocaleString("en")} that suit your samples best`,
      `number ${direction}, which is ${fits ? "" : "not "}${which[1]}`,
    );
  }

  /** @param {number} report */
  #report(report) {
    const label = this.#device.terms.target.labels[Math.floor(report / 2)];
    return `${label ? `${label}, ` : ""}predicted ${report % 2 ? "wrongly" : "rightly"}`;
  }
}

/** @param {DirectionTruth} truth */
function chanceOf({ chance, likely, unlikely }) {
  return (
    `With your samples, the chance of this very number was ${percent(chance)}. With any others, ` +
    `whatever they are, it would have been ${percent(unlikely)} to ${percent(likely)}.`
  );
}

/** @param {number} share */
function percent(share) {
  return `${Number((100 * share).toPrecision(2))} %`;
}
