"""The browser device's memory: all or nothing, once, and only ever more in the ledger."""

import json
from typing import Any

import pytest
from playwright.sync_api import Error, Page

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.support.servers import Portal
from tests.web.pages import Tabs

pytestmark = pytest.mark.xdist_group("tabs")

HELPERS = """() => {
    globalThis.event = { unit: "sample", nTraining: 3, nHeldout: 0, releases: [], delta: 0 };
    globalThis.truth = { g: Float64Array.of(1), nErrors: 1, nLabels: [] };
    globalThis.checkin = (id, x) =>
        ({ id, body: new TextEncoder().encode(JSON.stringify(x.map((row) => row[0]))) });
    globalThis.count = async (store) => ({
        samples: await store.nSamples(),
        pending: (await store.pendingCheckin())?.id ?? null,
        events: (await store.ledger()).events.length,
        sent: (await store.history()).length,
    });
    globalThis.opened = () => web.DeviceStore.open("https://crowd.example", "activity");
}"""

IDENTITY = {
    "url": "https://crowd.example", "task": "activity", "device": "d", "token": "t",
    "terms": "{}", "limits": {"perSample": 1, "perDevice": 20}, "ended": None,
}  # fmt: skip


@pytest.fixture
def profile(browse: Browse, watch: Watch, phones: Portal) -> Tabs:
    """The portal only serves the files: nothing here leaves the browser."""
    watch.allow("script: The transaction was aborted")
    return Tabs(lambda: browse(phones))


@pytest.fixture
def page(profile: Tabs) -> Page:
    return profile.open(HELPERS)


def run(page: Page, body: str, argument: Any = None) -> Any:
    return page.evaluate(f"async (given) => {{ {body} }}", argument)


FILL = "for (let i = 0; i < 3; i++) await store.add(Float64Array.of(i), i, () => true);"


def test_a_release_moves_samples_into_a_checkin(page: Page) -> None:
    found = run(page, f"""
        const store = await opened(); {FILL}
        let seen;
        const sent = await store.release((x, y, ledger, identity) => {{
            seen = [x.map((row) => [...row]), y, ledger.events.length, identity ?? null];
            return {{ checkin: checkin("one", x), event, truth }};
        }});
        const [line] = await store.history();
        return {{ seen, id: sent.id, ...(await count(store)), answer: line.answer,
                  body: new TextDecoder().decode(line.body), g: [...line.truth.g] }};
    """)  # fmt: skip
    assert found == {
        "seen": [[[0], [1], [2]], [0, 1, 2], 0, None], "id": "one", "samples": 0,
        "pending": "one", "events": 1, "sent": 1, "answer": "waiting", "body": "[0,1,2]", "g": [1],
    }  # fmt: skip


UNTOUCHED = {"samples": 3, "pending": None, "events": 0, "sent": 0}


def test_an_error_while_writing_changes_nothing(page: Page) -> None:
    found = run(page, f"""
        const store = await opened(); {FILL}
        let error;
        await store.release(() => {{ throw new web.LimitReached("no"); }}).catch((e) => error = e);
        const declined = await store.release(() => undefined);
        return [error instanceof web.LimitReached, declined ?? null, await count(store)];
    """)  # fmt: skip
    assert found == [True, None, UNTOUCHED]


@pytest.mark.parametrize(
    "wrong",
    ["checkin: checkin('one', x), event: { releases: Symbol() }, truth",
     "checkin: { body: checkin('one', x).body }, event, truth"],
    ids=["event", "checkin"],
)  # fmt: skip
def test_what_cannot_be_stored_changes_nothing(page: Page, wrong: str) -> None:
    found = run(page, f"""
        const store = await opened(); {FILL}
        let error;
        await store.release((x) => ({{ {wrong} }})).catch((e) => error = e);
        return [error instanceof web.DeviceError, await count(store)];
    """)  # fmt: skip
    assert found == [True, UNTOUCHED]


def test_a_checkin_is_written_once(page: Page) -> None:
    """The same id again, as a bug could have it: the samples stay, the ledger stays."""
    found = run(page, f"""
        const store = await opened(); {FILL}
        const write = (x) => ({{ checkin: checkin("one", x), event, truth }});
        await store.storeAnswer(await store.release(write), "applied"); {FILL}
        let error;
        await store.release(write).catch((e) => error = e);
        return [error instanceof web.DeviceError, await count(store)];
    """)  # fmt: skip
    assert found == [True, {"samples": 3, "pending": None, "events": 1, "sent": 1}]


def test_an_answer_settles_a_checkin_and_the_first_one_counts(page: Page) -> None:
    found = run(page, f"""
        const store = await opened(); {FILL}
        const sent = await store.release((x) => ({{ checkin: checkin("one", x), event, truth }}));
        await store.storeAnswer(sent, "applied");
        await store.storeAnswer(sent, "duplicate");
        return [(await store.history())[0].answer, await count(store)];
    """)  # fmt: skip
    assert found == ["applied", {"samples": 0, "pending": None, "events": 1, "sent": 1}]


def test_another_tab_finds_everything(profile: Tabs, page: Page) -> None:
    run(page, f"""
        const store = await opened(); {FILL}
        await store.update((known, n) => ({{ ...given, device: `${{known}} ${{n}}` }}));
        await store.release((x) => ({{ checkin: checkin("one", x), event, truth }}));
        await store.add(Float64Array.of(7), 1, (identity, n) => identity.token === "t" && n === 0);
    """, IDENTITY)  # fmt: skip
    page.close()
    found = run(profile.open(HELPERS), """
        const store = await opened();
        const { body } = await store.pendingCheckin();
        return [await store.identity(), await count(store), new TextDecoder().decode(body)];
    """)  # fmt: skip
    counts = {"samples": 1, "pending": "one", "events": 1, "sent": 1}
    assert found == [IDENTITY | {"device": "undefined 3"}, counts, "[0,1,2]"]


def test_two_tabs_do_not_use_a_sample_twice(profile: Tabs, page: Page) -> None:
    other = profile.open(HELPERS)
    start = """
        globalThis.store = await opened();
        globalThis.race = async (name, rounds) => {
            for (let i = 0; i < rounds; i++) {
                await store.add(Float64Array.of(Math.random()), 0, () => true);
                await store.release((x) =>
                    x.length ? { checkin: checkin(`${name} ${i}`, x), event, truth } : undefined);
            }
        };
    """
    for tab in (page, other):
        run(tab, start)
        # Both run at the same time: the promise is kept, not waited for.
        tab.evaluate("(name) => { globalThis.racing = race(name, 40); }", str(id(tab)))
    for tab in (page, other):
        tab.evaluate("racing")
    found = run(page, """
        const used = (await store.history()).flatMap(
            (line) => JSON.parse(new TextDecoder().decode(line.body)));
        return [used.length, new Set(used).size, await store.nSamples()];
    """)  # fmt: skip
    assert found == [80, 80, 0]


def test_what_a_check_in_was_made_from_is_never_stored(page: Page) -> None:
    """It is shown while the page is open that made it. b = 1: the truth is a sample."""
    found = run(page, f"""
        const store = await opened(); {FILL}
        await store.release((x) => ({{ checkin: checkin("one", x), event, truth }}));
        const again = await opened();
        const lines = [...await store.history(), ...await again.history()];
        const open = indexedDB.open(store.name);
        await new Promise((resolve) => (open.onsuccess = resolve));
        const all = open.result.transaction("sent").objectStore("sent").getAll();
        await new Promise((resolve) => (all.onsuccess = resolve));
        return [lines.map((line) => line.truth !== null), Object.keys(all.result[0])];
    """)  # fmt: skip
    assert found == [[True, False], ["id", "time", "body", "tally"]]


def test_erasing_works_while_another_tab_looks_on(profile: Tabs, page: Page) -> None:
    other = profile.open(HELPERS)
    run(other, f"globalThis.store = await opened(); {FILL}")
    run(page, "await (await opened()).erase();")
    assert run(page, "return (await indexedDB.databases()).length;") == 0
    found = run(other, """
        return store.nSamples().catch((error) => error instanceof web.DeviceError);
    """)  # fmt: skip
    assert found is True


def test_closed_at_any_instant_no_kept_sample_is_lost_or_used_twice(profile: Tabs) -> None:
    witness = profile.open(HELPERS)
    run(witness, """
        globalThis.kept = [];
        new BroadcastChannel("kept").onmessage = (message) => kept.push(message.data);
    """)  # fmt: skip
    for round_ in range(5):
        page = profile.open(HELPERS)
        run(page, """
            const store = await opened();
            const channel = new BroadcastChannel("kept");
            (async () => {
                for (let i = 0; ; i++) {
                    const x = given * 10000 + i;
                    await store.add(Float64Array.of(x), 0, () => true);
                    channel.postMessage(x);
                    if (i % 4 === 3) await store.release(
                        (rows) => ({ checkin: checkin(`checkin ${x}`, rows), event, truth }));
                }
            })();
        """, round_)  # fmt: skip
        page.wait_for_timeout(60 + 37 * round_)
        page.close()
    found = run(profile.open(HELPERS), """
        const store = await opened();
        const used = (await store.history()).map((line) => new TextDecoder().decode(line.body));
        const left = [];
        await store.release((x) => { left.push(...x.map((row) => row[0])); });
        return { used, left, lines: (await store.ledger()).events.length };
    """)  # fmt: skip
    kept = run(witness, "return kept;")
    used = [x for body in found["used"] for x in json.loads(body)]
    everywhere = used + found["left"]
    assert len(kept) > 20
    assert len(set(everywhere)) == len(everywhere), "no sample is in two places"
    assert set(kept) <= set(everywhere), "no sample that was acknowledged is lost"
    assert found["lines"] == len(found["used"]), "every check-in has its line in the ledger"


def test_a_browser_without_memory_is_told_so(page: Page) -> None:
    with pytest.raises(Error, match="cannot use the device's memory in this browser"):
        run(page, """
            IDBFactory.prototype.open = () => { throw new DOMException("denied"); };
            await opened();
        """)  # fmt: skip
