/** Run the participant's page, which makes a phone's browser a device. */

import { Device, taskEnded } from "../index.js";
import { Budget } from "./budget.js";
import { Comparison } from "./comparison.js";
import { consent } from "./consent.js";
import { renderPersonalAccuracy } from "./course.js";
import { any, complain, element, put, show } from "./elements.js";
import { Ending } from "./ending.js";
import { Panel } from "./panel.js";
import { say } from "./say.js";
import { Participation } from "./participation.js";
import { SentList } from "./sent.js";
import { Signal } from "./signal.js";

const task = any("page").dataset["task"] ?? "";

// Without the service worker, the page works as well, but not offline.
const join = new URL("../../join/", import.meta.url);
navigator.serviceWorker
  ?.register(new URL("worker.js", join), { scope: join.pathname })
  .then(() => navigator.serviceWorker.ready)
  .then(({ active }) => active?.postMessage("keep"))
  .catch(() => undefined);
begin().catch(complain);

async function begin() {
  const known = await Device.open(task);
  const device = known ?? (await consent(task));
  await takePart(device, !known);
}

/**
 * @param {Device} device
 * @param {boolean} fresh Whether the participant has agreed just now.
 */
async function takePart(device, fresh) {
  const part = new Participation(device);
  const panel = new Panel(part);
  const sent = new SentList(device);
  const budget = new Budget(device, async () => {
    await refresh();
    await part.sync();
  });
  const ending = new Ending(device, () => part.goOn());
  const comparison = new Comparison(device, () => location.reload());
  new Signal(part);
  const agreed = device.termsSha256;
  let left = false;
  let compared = false;

  const refresh = oneAtATime(async () => {
    if (left) return;
    if (device.ended?.code === "left") return bye();
    // Another tab has agreed to other terms; the labels and numbers here belong to the old terms.
    if (device.termsSha256 !== agreed) return location.reload();
    await part.weigh();
    panel.count(await device.nSamples());
    const history = await device.history();
    sent.render(history);
    await budget.render();
    panel.render();
    const over = device.ended ?? part.over;
    renderPersonalAccuracy(device.terms, history, over !== null);
    put("ended-why", over ? say(over.phrase) : "");
    show(over ? "ended" : part.termsChanged ? "terms" : "part");
    if (over) await ending.render(history);
    if (part.termsChanged && !over && !compared) {
      compared = true;
      await comparison.render();
    }
  });
  part.addEventListener("update", () => refresh().catch(complain));
  device.addEventListener("change", () => refresh().catch(complain));
  const timer = setInterval(() => {
    part.tick().catch(complain);
    panel.tick();
  }, 1000);

  const dialog = element("sure-to-leave", HTMLDialogElement);
  for (const button of document.querySelectorAll("[data-leave]")) {
    button.addEventListener("click", () => dialog.showModal());
  }
  dialog.addEventListener("close", async () => {
    if (dialog.returnValue !== "leave") return;
    try {
      left = true;
      await part.close();
      await device.leave();
      await bye();
    } catch (error) {
      complain(error);
    }
  });

  async function bye() {
    left = true;
    clearInterval(timer);
    await part.close();
    part.reader.forget();
    panel.forget();
    put("bye-note", say(device.lastNotice));
    show("bye");
  }

  const { results } = await device.kept();
  const state = any("page").dataset["ended"] || (results?.final ? results.state : "");
  if (state) {
    part.over = taskEnded({ state });
    device.sync().catch(complain);
  }
  part.run(fresh || part.typedIn);
  // Leaving must be possible even if the ledger cannot be read.
  await refresh().catch((error) => {
    show("part");
    throw error;
  });
  await part.sync();
}

/**
 * Merge calls: a call that comes while another waits shares its result.
 *
 * @param {() => Promise<void>} action
 */
function oneAtATime(action) {
  let turn = Promise.resolve();
  let queued = false;
  return () => {
    if (queued) return turn;
    queued = true;
    turn = turn.catch(() => undefined).then(() => {
      queued = false;
      return action();
    });
    return turn;
  };
}
