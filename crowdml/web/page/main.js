/** Run the participant's page, which makes a phone's browser a device. */

import { Device, taskEnded } from "../index.js";
import { renderPersonalAccuracy } from "./accuracy_chart.js";
import { Budget } from "./budget.js";
import { Comparison } from "./comparison.js";
import { consent } from "./consent.js";
import { byId, element, put, showError, showView } from "./elements.js";
import { Ending } from "./ending.js";
import { Panel } from "./panel.js";
import { Participation } from "./participation.js";
import { say } from "./say.js";
import { SentList } from "./sent_list.js";
import { Signal } from "./signal.js";

const task = byId("page").dataset["task"] ?? "";

// Without the service worker, the page works as well, but not offline.
const join = new URL("../../join/", import.meta.url);
navigator.serviceWorker
  ?.register(new URL("worker.js", join), { scope: join.pathname })
  .then(() => navigator.serviceWorker.ready)
  .then(({ active }) => active?.postMessage("keep"))
  .catch(() => undefined);
begin().catch(showError);

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
  const participation = new Participation(device);
  const panel = new Panel(participation);
  const sent = new SentList(device);
  const budget = new Budget(device, async () => {
    await refresh();
    await participation.sync();
  });
  const ending = new Ending(device, () => participation.resumeReopened());
  const comparison = new Comparison(device, () => location.reload());
  new Signal(participation);
  const agreed = device.termsSha256;
  let left = false;
  let compared = false;

  const refresh = oneAtATime(async () => {
    if (left) return;
    if (device.ended?.code === "left") return showLeft();
    // Another tab has agreed to other terms; the labels and numbers here belong to the old terms.
    if (device.termsSha256 !== agreed) return location.reload();
    await participation.updateAtLimit();
    panel.count(await device.nSamples());
    const history = await device.history();
    sent.render(history);
    await budget.render();
    panel.render();
    const end = device.ended ?? participation.end;
    renderPersonalAccuracy(device.terms, history, end !== null);
    put("ended-why", end ? say(end.phrase) : "");
    showView(end ? "ended" : participation.termsChanged ? "terms" : "running");
    if (end) await ending.render(history);
    if (participation.termsChanged && !end && !compared) {
      compared = true;
      await comparison.render();
    }
  });
  participation.addEventListener("update", () => refresh().catch(showError));
  device.addEventListener("change", () => refresh().catch(showError));
  const timer = setInterval(() => {
    participation.tick().catch(showError);
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
      await participation.close();
      await device.leave();
      await showLeft();
    } catch (error) {
      showError(error);
    }
  });

  async function showLeft() {
    left = true;
    clearInterval(timer);
    await participation.close();
    participation.reader.forget();
    panel.forget();
    put("bye-note", say(device.lastNotice));
    showView("bye");
  }

  const { results } = await device.readKept();
  const state = byId("page").dataset["ended"] || (results?.final ? results.state : "");
  if (state) {
    participation.end = taskEnded({ state });
    device.sync().catch(showError);
  }
  participation.run(fresh || participation.typedIn);
  // Leaving must be possible even if the ledger cannot be read.
  await refresh().catch((error) => {
    showView("running");
    throw error;
  });
  await participation.sync();
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
