"""Drive the browser's device in a page of a real Chromium, with a clock that the test sets."""

from typing import Any

from playwright.sync_api import Browser, Page

from tests.conformance.scene import BATCH, COST, Scene
from tests.conformance.subject import PROBES
from tests.conformance.table import Seen

SUBJECT = """async ([batch, cost]) => {
    const web = await import("/web/index.js");
    // What waits for the end of a slot goes on at once.
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (action, ms) => setTimeout(action, ms > 50 ? ms : 0);
    const HELD = {
        "waiting to retry": "waiting", "task paused": "paused", "terms changed": "terms changed",
    };
    globalThis.web = web;
    globalThis.subject = {
        async join(task, perDevice) {
            Object.assign(this, { task, now: 0, device: null });
            const limits = perDevice && { limits: { perSample: cost, perDevice } };
            this.device = await web.Device.join(task, { ...this.options(), ...limits });
        },
        options() {
            return { retryTimer: new web.RetryTimer({ clock: () => this.now }) };
        },
        async feed(n) {
            const labels = ["still", "walk", "run"];
            for (let i = 0; i < n; i++) await this.device.add([0.1, 0.2, 0.3, 0.4], labels[i % 3]);
        },
        async sync() {
            await this.device.sync();
        },
        async wake() {
            this.now += 36000;
            await this.sync();
        },
        async again(probes) {
            const { device, now } = this;
            let asked = false;
            const { fetch } = globalThis;
            globalThis.fetch = (...given) => {
                asked = true;
                return fetch(...given);
            };
            try {
                const idle = device.ended === null && !(await device.pending());
                if (idle) await this.feed(Math.max(batch - (await device.nSamples()), 0));
                for (const [seconds, word] of probes) {
                    this.now = now + seconds;
                    await this.sync();
                    if (asked) return word;
                }
                return "never by itself";
            } finally {
                globalThis.fetch = fetch;
            }
        },
        async start() {
            const again = await web.Device.open(this.task, this.options());
            if (!again) return;
            this.device.close();
            this.device = again;
            await this.sync();
        },
        async otherLeaves() {
            await (await web.Device.open(this.task))?.leave();
        },
        async agree() {
            const shown = this.device.currentTerms();
            await shown.then((shown) => this.device.agree(shown.termsSha256)).catch(this.rejected);
        },
        async raiseLimit(perDevice) {
            await this.device.setLimits({ perSample: cost, perDevice }).catch(this.rejected);
        },
        rejected(error) {
            if (!(error instanceof web.CrowdmlError)) throw error;
        },
        async look() {
            const { device } = this;
            if (device.ended?.code === "left") {
                const kept = await web.Device.open(this.task);
                const left = { samples: await kept?.nSamples() ?? 0, outbox: null, ledger: 0 };
                kept?.close();
                return { state: "left", ...left };
            }
            const samples = await device.nSamples();
            const [line] = (await device.history()).filter(({ answer }) => answer === "waiting");
            const outbox = line ? new TextDecoder().decode(line.body) : null;
            if ((outbox !== null) !== (await device.pending())) throw new Error("outbox");
            const ledger = (await device.ledger()).events.length;
            return { state: await this.state(samples), samples, outbox, ledger };
        },
        async memory(mode, action) {
            const open = indexedDB.open(`crowdml ${this.task} at ${location.origin}`);
            await new Promise((resolve) => (open.onsuccess = resolve));
            const names = [...open.result.objectStoreNames];
            const transaction = open.result.transaction(names, mode);
            const done = new Promise((resolve) => (transaction.oncomplete = resolve));
            for (const name of names) await action(transaction.objectStore(name), name);
            await done;
            open.result.close();
        },
        got: (request) =>
            new Promise((resolve) => (request.onsuccess = () => resolve(request.result))),
        async backUp() {
            this.copy = {};
            await this.memory("readonly", async (store, name) => {
                const found = [await this.got(store.getAllKeys()), await this.got(store.getAll())];
                this.copy[name] = found;
            });
        },
        async restore() {
            await this.memory("readwrite", async (store, name) => {
                const [keys, values] = this.copy[name];
                await this.got(store.clear());
                for (const [i, value] of values.entries()) {
                    await this.got(store.keyPath ? store.put(value) : store.put(value, keys[i]));
                }
            });
            await this.start();
        },
        async loseRecord() {
            this.device.close();
            await this.got(indexedDB.deleteDatabase(
                `record of crowdml ${this.task} at ${location.origin}`));
            this.device = await web.Device.open(this.task, this.options());
        },
        async dieAtTheRecord(written) {
            const { DeviceRecord } = await import("/web/device/storage/record.js");
            const { claim } = DeviceRecord.prototype;
            DeviceRecord.prototype.claim = async function (...given) {
                if (written) await claim.apply(this, given);
                throw new Error("killed");
            };
            await this.feed(batch).catch(() => undefined);
            DeviceRecord.prototype.claim = claim;
        },
        async state(samples) {
            const { device } = this;
            if (device.ended?.code === "fulfilled") return "all check-ins made";
            if (device.ended?.code === "copied") return "copied";
            if (device.ended !== null) return device.identity.ended ? "revoked" : "task finished";
            if (device.wait) return HELD[device.waitsFor];
            if (samples >= batch && (await device.isAtLimit())) return "at the limit";
            return (await device.pending()) ? "waiting" : "collecting";
        },
    };
}"""


def open_page(chromium: Browser, url: str) -> Page:
    page = chromium.new_page()
    page.goto(url)
    page.evaluate(SUBJECT, [BATCH, COST])
    return page


class BrowserDevice:
    name = "browser"

    def __init__(self, page: Page, scene: Scene) -> None:
        self.page, self.scene = page, scene

    def _call(self, method: str, *arguments: object) -> Any:
        return self.page.evaluate(
            "([method, given]) => subject[method](...given)", [method, list(arguments)]
        )

    def join(self, limit: float | None = None) -> None:
        self._call("join", self.scene.name, limit)

    def feed(self, n: int) -> None:
        self._call("feed", n)

    def sync(self) -> None:
        self._call("sync")

    def wake(self) -> None:
        self._call("wake")

    def start(self) -> None:
        self._call("start")

    def other_leaves(self) -> None:
        self._call("otherLeaves")
        self.scene.heard.clear()
        self.sync()

    def agree(self) -> None:
        self._call("agree")

    def raise_limit(self) -> None:
        self._call("raiseLimit", COST * self.scene.checkins)

    def leave(self) -> None:
        self.page.evaluate("subject.device.leave()")

    def wait(self) -> float:
        return float(self.page.evaluate("subject.device.wait"))

    def look(self) -> Seen:
        found = self._call("look")
        outbox = found["outbox"]
        return Seen(found["state"], found["samples"], outbox and outbox.encode(), found["ledger"])

    def back_up(self) -> None:
        self._call("backUp")

    def restore(self) -> None:
        self._call("restore")

    def lose_record(self) -> None:
        self._call("loseRecord")

    def die_at_the_record(self, written: bool) -> None:
        self._call("dieAtTheRecord", written)

    def again(self) -> str:
        self.scene.heard.clear()
        again: str = self._call("again", PROBES)
        assert bool(self.scene.heard) == (again != "never by itself")
        return again

    def close(self) -> None:
        self.page.evaluate("subject.device?.close()")
