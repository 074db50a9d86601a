"""The browser device from joining to leaving, in a real browser, against a real server."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from crowdml.privacy import CheckinKey, DirectionMechanism
from crowdml.privacy.direction.channel import FIELDS
from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.support.servers import Portal, make_task
from tests.web.pages import Tabs, add_tasks, change_task, claim, version

pytestmark = pytest.mark.xdist_group("tabs")

HELPERS = """() => {
    globalThis.X = [0.1, 0.2, 0.3, 0.4];
    globalThis.LABELS = ["still", "walk", "run"];
    globalThis.soon = () => ({ retryTimer: new web.RetryTimer({ base: 0 }) });
    globalThis.fill = async (n) => {
        const outcomes = [];
        for (let i = 0; i < n; i++) outcomes.push(await device.add(X, LABELS[i % 3]));
        return outcomes;
    };
    globalThis.agree = async () =>
        device.agree((await device.currentTerms()).termsSha256);
    globalThis.look = async () => ({
        samples: await device.nSamples(),
        pending: await device.pending(),
        events: (await device.ledger()).events.length,
        answers: (await device.history()).map((line) => line.answer),
        ended: device.ended && web.write(device.ended.phrase),
    });
}"""

JOIN = "globalThis.device = await web.Device.join(task, { ...soon(), ...given });"
JOIN_FOR_EVER = """
    const retryTimer = new web.RetryTimer({ clock: () => 0 });
    globalThis.device = await web.Device.join(task, { retryTimer });
"""
"""With a clock that stands still no wait ends by itself."""

OPEN = "globalThis.device = await web.Device.open(task, soon());"


@pytest.fixture
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the changes to the task's file."""
    return dict(getattr(request, "param", {}))


@pytest.fixture
def server(phones: Portal) -> Portal:
    return phones


@pytest.fixture
def profile(
    browse: Browse,
    watch: Watch,
    server: Portal,
    request: pytest.FixtureRequest,
    options: dict[str, Any],
) -> Tabs:
    """Open tabs for one test, with a task of its own."""
    watch.allow("console error: Failed to load resource")
    words = re.findall(r"[a-z0-9]+", request.node.name.removeprefix("test_"))
    name = "-".join(words)[-60:].strip("-")
    add_tasks(server, make_task(name, **options))
    return Tabs(lambda: browse(server), name)


@pytest.fixture
def page(profile: Tabs) -> Page:
    return profile.open(HELPERS)


def run(page: Page, body: str, argument: Any = None) -> Any:
    return page.evaluate(f"async (given) => {{ {body} }}", argument)


def look(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("look()")
    return found


def test_from_joining_to_a_check_in(profile: Tabs, page: Page, server: Portal) -> None:
    run(page, JOIN)
    steps = run(page, """
        const seen = { steps: [], times: [], changes: 0 };
        device.addEventListener("step", (event) => {
          seen.steps.push(event.detail);
          seen.times.push(performance.now());
        });
        device.addEventListener("change", () => seen.changes++);
        Object.defineProperty(Object.getPrototypeOf(device.terms), "slots", { get: () => 3 });
        seen.outcomes = await fill(4);
        return seen;
    """)  # fmt: skip
    assert steps["outcomes"] == ["collected", "collected", "checked in", "collected"]
    assert steps["steps"] == [
        "checked out",
        "sanitised",
        "stored",
        "booked",
        "sent",
        "acknowledged",
    ]
    assert steps["times"][4] - steps["times"][0] >= 149, "it is sent when its slots are over"
    assert steps["changes"] >= 5
    assert look(page) == {
        "samples": 1, "pending": False, "events": 1, "answers": ["applied"], "ended": None,
    }  # fmt: skip
    assert version(server, profile.task) == len(profile.bodies) == 1


def test_what_was_sent_and_what_was_hidden_stand_side_by_side(profile: Tabs, page: Page) -> None:
    run(page, JOIN)
    found = run(page, """
        await fill(3);
        const [line] = await device.history();
        const body = new TextDecoder().decode(line.body);
        const message = JSON.parse(body);
        return { body, time: line.time, cost: web.lossOf(line.event).total, truth: line.truth,
                 g: [...line.truth.g], sent: web.decodeGradient(message.gradient, 12) };
    """)  # fmt: skip
    assert found["body"].encode() == profile.bodies[0]
    assert found["cost"] == pytest.approx(1.0)
    assert found["truth"]["nLabels"] == [1, 1, 1]
    assert found["truth"]["nErrors"] == 2, "w is 0, so everything is taken for label 0"
    assert sum(map(abs, found["g"])) <= 2
    grid = json.loads(found["body"])["grid"]
    # Twelve draws at a scale of about 2²⁰ steps are all 0 with a chance below 1e-60.
    assert found["sent"] != [round(g / 2.0**grid) for g in found["g"]]


def test_joining_again_goes_on(profile: Tabs, page: Page, server: Portal) -> None:
    first = run(page, JOIN + "await fill(2); return device.identity;")
    page.close()
    again = profile.open(HELPERS)
    asked = {"limits": {"perSample": 9, "perDevice": 9}}
    assert run(again, JOIN + "return device.identity;", asked) == first
    assert run(again, OPEN + "return device.identity;") == first
    assert run(again, "return fill(1);") == ["checked in"]
    assert run(again, "return (await web.Device.open('another')) ?? null;") is None


def test_two_tabs_join_as_one_device(profile: Tabs, page: Page) -> None:
    other = profile.open(HELPERS)
    for tab in (page, other):
        tab.evaluate("() => { globalThis.joining = web.Device.join(task); }")
    names = [run(tab, "return (await joining).identity.device;") for tab in (page, other)]
    assert names[0] == names[1]


def test_two_tabs_send_a_message_once(profile: Tabs, page: Page, server: Portal) -> None:
    run(page, JOIN)
    page.route("**/checkins", lambda route: route.abort(), times=1)
    run(page, "await fill(3);")
    other = profile.open(HELPERS)
    run(other, OPEN)
    profile.bodies.clear()
    for tab in (page, other):
        tab.evaluate("() => { globalThis.syncing = device.sync(); }")
    outcomes = {run(tab, "return syncing;") for tab in (page, other)}
    assert outcomes == {"checked in", "collected"}
    assert (len(profile.bodies), version(server, profile.task)) == (1, 1)


def test_two_tabs_do_not_spend_the_same_budget(profile: Tabs, page: Page, server: Portal) -> None:
    run(page, JOIN, {"limits": {"perSample": 1, "perDevice": 1}})
    other = profile.open(HELPERS)
    run(other, OPEN)
    for tab in (page, other):
        tab.evaluate("() => { globalThis.filling = fill(6); }")
    outcomes = [outcome for tab in (page, other) for outcome in run(tab, "return filling;")]
    assert outcomes.count("checked in") <= 1
    assert look(page)["events"] == version(server, profile.task) == 1
    sent = json.loads(profile.bodies[0])["samples"]
    assert look(page)["samples"] == 12 - sent


@pytest.mark.parametrize("options", [{"collection__buffer": 5}], indirect=True)
def test_a_full_buffer_stops_collecting(profile: Tabs, page: Page) -> None:
    run(page, JOIN)
    page.route("**/model", lambda route: route.abort(), times=20)
    outcomes = run(page, "return fill(7);")
    assert outcomes == ["collected"] * 2 + ["waiting to retry"] * 3 + ["buffer full"] * 2
    page.unroute("**/model")
    assert run(page, "return fill(1);") == ["collected"], "room again: the sample is kept"
    assert json.loads(profile.bodies[0])["samples"] == 5


def test_changed_terms_get_nothing_until_agreed(profile: Tabs, page: Page, server: Portal) -> None:
    run(page, JOIN, {"limits": {"perSample": 1, "perDevice": 100}})
    other = profile.open(HELPERS)
    run(other, OPEN)
    change_task(server, make_task(profile.task, privacy__epsilon=0.5))
    assert run(page, "return fill(4);")[-2:] == ["terms changed"] * 2
    assert profile.bodies == []
    assert look(page)["events"] == 0
    current = run(page, "return (await device.currentTerms()).terms.privacy.epsilon;")
    agreed = run(page, "return device.terms.privacy.epsilon;")
    assert (agreed, current) == (1.0, 0.5)
    run(page, "await agree();")
    assert run(page, "return device.sync();") == "checked in"
    assert run(page, "return (await device.ledger()).epsilonPerSample;") == pytest.approx(0.5)
    # The other tab follows what was agreed to in this tab.
    assert run(other, "return fill(3);")[-1] == "checked in"
    assert run(other, "return device.terms.privacy.epsilon;") == 0.5
    assert version(server, profile.task) == 2
    # A sample that says which terms it was taken under is rejected under others.
    kept = look(other)["samples"]
    rejection = "return device.add(X, 'still', 'another hash').catch((error) => error.name);"
    assert run(other, rejection) == "TermsChanged"
    assert look(other)["samples"] == kept


def test_a_pause_stays_a_pause_until_the_next_attempt(profile: Tabs, page: Page) -> None:
    run(page, JOIN_FOR_EVER)
    other = profile.open(HELPERS)
    run(other, OPEN)
    asked: list[str] = []

    def pause(route: Route) -> None:
        asked.append(route.request.url)
        problem = {"type": "urn:crowdml:problem:task-paused", "detail": "the task is paused."}
        route.fulfill(status=409, json=problem)

    page.route("**/model", pause)
    assert run(page, "return fill(5);") == ["collected"] * 2 + ["task paused"] * 3
    assert len(asked) == 1
    assert run(page, "return [device.wait > 0, device.waitsFor];") == [True, "task paused"]
    assert run(page, "return device.retry();") == "task paused"
    assert len(asked) == 2
    page.unroute("**/model")
    assert run(page, "return device.sync();") == "task paused"
    # New limits are a new start, in this tab or another.
    run(other, "await device.setLimits({ perSample: 2, perDevice: 50 });")
    assert run(page, "return device.sync();") == "checked in"
    assert run(page, "return [device.wait, device.waitsFor];") == [0, "waiting to retry"]


def test_other_terms_stay_the_reason_until_the_next_attempt(profile: Tabs, page: Page) -> None:
    run(page, JOIN_FOR_EVER)
    claim(page, make_task(profile.task, privacy__epsilon=0.5))
    assert run(page, "return fill(5);") == ["collected"] * 2 + ["terms changed"] * 3
    page.unroute_all()
    assert run(page, "return device.sync();") == "terms changed"
    assert run(page, "return device.retry();") == "checked in"


def test_only_what_was_shown_is_agreed_to(profile: Tabs, page: Page) -> None:
    """The terms change once more between the two calls."""
    texts = [make_task(profile.task, privacy__epsilon=e).terms.text for e in (0.5, 0.9)]
    run(page, JOIN)
    found = run(page, """
        const pinned = () => device.identity.terms;
        const joined = pinned();
        const http = new web.HttpTransport(location.origin, task);
        const view = await http.task();
        let calls = 0;
        http.task = async () => {
            const terms = given[calls++ % 2];
            return { ...view, terms, terms_sha256: await web.termsHash(terms) };
        };
        device = await web.Device.open(task, { transport: http });
        const rejection = (error) => error.name;
        const shown = await device.currentTerms();
        const changed = await device.agree(shown.termsSha256).catch(rejection);
        calls = 0;
        const unseen = await device.agree().catch(rejection);
        const kept = pinned() === joined;
        calls = 0;
        await device.agree(shown.termsSha256);
        return { changed, unseen, kept, text: shown.terms.text, pinned: pinned() };
        """, texts)  # fmt: skip
    assert found == {
        "changed": "TermsChanged", "unseen": "TermsChanged", "kept": True, "text": texts[0],
        "pinned": texts[0],
    }  # fmt: skip


def test_no_privacy_cannot_be_agreed_to_in_passing(
    profile: Tabs, page: Page, server: Portal
) -> None:
    run(page, JOIN)
    claim(page, make_task(profile.task, privacy__epsilon=float("inf")))
    assert run(page, "return agree().catch((error) => error.name);") == "NotPrivate"
    assert run(page, "return fill(3);")[-1] == "terms changed"


def test_samples_that_do_not_fit_new_terms_are_not_mixed_in(
    profile: Tabs, page: Page, server: Portal
) -> None:
    run(page, JOIN + "await fill(2);")
    claim(page, make_task(profile.task, features__count=5))
    message = run(page, "return agree().catch((error) => error.message);")
    assert message.startswith("2 samples in the buffer do not fit the new terms")


@pytest.mark.parametrize("options", [{"privacy__epsilon": float("inf")}], indirect=True)
def test_no_privacy_must_be_accepted_by_name(profile: Tabs, page: Page) -> None:
    rejected = "return web.Device.join(task).catch((error) => error.message);"
    assert "NOT PRIVATE" in run(page, rejected)
    assert run(page, "return (await web.Device.open(task)) ?? null;") is None
    run(page, JOIN, {"acceptNoPrivacy": True})
    assert run(page, "return fill(3);")[-1] == "checked in"
    found = run(page, """
        const [line] = await device.history();
        const { gradient, grid } = JSON.parse(new TextDecoder().decode(line.body));
        return [web.decodeGradient(gradient, 12), web.quantize(line.truth.g, grid)];
    """)  # fmt: skip
    assert found[0] == found[1]


def test_nothing_in_the_ledger_is_changed_or_removed(profile: Tabs, page: Page) -> None:
    calls = run(page, """
        const calls = new Set();
        for (const name of ["add", "put", "delete", "clear"]) {
            const original = IDBObjectStore.prototype[name];
            IDBObjectStore.prototype[name] = function (...given) {
                calls.add(`${this.name}.${name}`);
                return original.apply(this, given);
            };
        }
        for (const name of ["update", "delete"]) {
            IDBCursor.prototype[name] = () => { throw new Error("no cursors"); };
        }
        globalThis.device = await web.Device.join(task, soon());
        await fill(7);
        await device.setLimits({ perSample: 5, perDevice: 50 });
        await agree();
        return [...calls].sort();
    """)  # fmt: skip
    assert calls == [
        "answers.add", "buffer.add", "buffer.delete", "identity.put", "ledger.add", "outbox.add",
        "outbox.delete", "record.add", "sent.add", "sent.put",
    ]  # fmt: skip


def test_jitter_hides_when_a_minibatch_became_full(profile: Tabs, page: Page) -> None:
    found = run(page, """
        let now = 0;
        const chance = { below: (n) => n / 4 };
        const retryTimer = new web.RetryTimer({ jitter: 1000, clock: () => now, chance });
        globalThis.device = await web.Device.join(task, { retryTimer });
        const early = [...(await fill(4)), device.wait];
        now = 250;
        return [early, await device.sync()];
    """)  # fmt: skip
    early = ["collected"] * 2 + ["waiting to retry"] * 2 + [250]
    assert found == [early, "checked in"]
    assert json.loads(profile.bodies[0])["samples"] == 4


DIRECTION: dict[str, Any] = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0}
ALL_MADE = "all check-ins that you agreed to are made. Thank you."


@pytest.mark.parametrize(
    "options",
    [
        DIRECTION
        | {"collection__checkins": 6, "collection__evaluators": 0.3, "collection__counters": 0.3}
    ],
    indirect=True,
)
def test_every_check_in_has_its_number_and_its_role(
    profile: Tabs, page: Page, server: Portal
) -> None:
    name = run(page, JOIN + "return device.identity.device;")
    other = profile.open(HELPERS)
    run(other, OPEN)
    for tab in (page, other):
        tab.evaluate("() => { globalThis.filling = fill(15); }")
    outcomes = [outcome for tab in (page, other) for outcome in run(tab, "return filling;")]
    assert outcomes.count("checked in") == 6
    assert version(server, profile.task) == 6, "each has the role that the server knows it to have"
    messages = [json.loads(body) for body in profile.bodies]
    assert [message["number"] for message in messages] == [1, 2, 3, 4, 5, 6]
    assert {message["terms"] for message in messages} == {run(page, "return device.termsSha256;")}
    with server.store() as store:
        terms = store.task(profile.task).task.terms
    mechanism = terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    for message in messages:
        event = mechanism.event(3, CheckinKey(message["terms"], name, message["number"]))
        assert set(message) == {"id", "version", "terms", "number", FIELDS[event.role]}
    assert look(page)["ended"] == look(other)["ended"] == ALL_MADE
    assert run(page, "return (await device.ledger()).epsilonSpent;") == pytest.approx(4)
