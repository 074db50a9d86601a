"""A thumb on a phone: what is reached first, what is large enough, and what a stray tap does."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, inspect, phone_task, running
from tests.browser.test_portal_weight import Scale
from tests.support.servers import Portal
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")

EVERY, BATCH = 60, 40
REQUESTS, SECONDS = 15, 3
BANDWIDTH, ROUND_TRIP = 400_000, 0.15
"""Bits a second, and seconds: a phone at the edge of a network."""

FORTY = ["Straßenbahnhaltestelle", "on a bus", *(f"place {k}" for k in range(38))]
BROKEN = """() => [...document.querySelectorAll("#labels button span")].filter((span) => {
    const words = span.textContent.split(" ").length;
    const lines = new Set([...span.getClientRects()].map(({ top }) => Math.round(top))).size;
    return lines > words || span.scrollWidth > span.parentElement.clientWidth;
}).map((span) => span.textContent)"""
SHIFT = """() => {
    globalThis.shift = 0;
    const add = (list) => list.getEntries().forEach(({ value }) => (globalThis.shift += value));
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""
SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((each) => each.checkVisibility() && getComputedStyle(each).display !== "inline")
    .filter((each) => !each.matches(".skip"))
    .map((each) => (each.type === "checkbox" ? each.closest("label") : each))
    .filter((each) => each.getBoundingClientRect().height < 43.9)
    .map((each) => each.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    slow = {
        "features__sensor__every": EVERY,
        "collection__batch": BATCH,
        "collection__buffer": BATCH,
    }
    tasks = [
        phone_task("slow", **slow),
        phone_task("changes", **slow, features__sensor__trigger="label-change"),
        phone_task("german", enrolment__mode="invite"),
        phone_task("many", **slow, target__labels=FORTY),
    ]
    return add_tasks(phones, *tasks)


def test_four_taps_from_the_list_to_the_first_sample(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "slow")
    page.goto("/?q=slow")
    # The page for joining is skipped: a phone need not point its camera at itself.
    for role, name in (
        ("link", "What is the owner of this phone doing?"),
        ("link", "Take part"),
        ("button", "Agree and take part"),
        ("button", "Walking"),
    ):
        button = page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
        expect(button).to_be_enabled()
        assert page.evaluate(SMALL) == []
        button.tap()
    expect(page.locator("#samples")).to_have_text(f"1 of {BATCH}")
    assert participant.collected() == 1


def test_a_link_to_the_join_page_leads_phones_to_consent(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/tasks/german/join#invite=code")
    expect(page.get_by_label("Invite code")).to_have_value("code")
    page.goto("/tasks/slow/join#other")
    expect(page.get_by_text('pip install "crowdml')).to_be_visible()
    assert page.evaluate(SMALL) == []
    page.goto("about:blank")
    page = browse(server, "desktop-light")
    page.goto("/tasks/slow/join")
    button = page.get_by_role("link", name="Take part in this browser")
    code, below = (each.bounding_box() for each in (page.get_by_alt_text("QR code"), button))
    assert code
    assert below
    assert code["y"] + code["height"] < below["y"]


def test_a_computer_without_the_sensor_is_not_asked_to_agree(
    browse: Browse, server: Portal
) -> None:
    page = browse(server, "desktop-light")
    page.goto("/join/slow")
    expect(page.get_by_role("alert")).to_have_text(
        "This device has no motion sensor. Take part with a phone."
    )
    expect(page.get_by_alt_text("QR code")).to_be_visible()
    expect(page.locator("#agree")).to_be_hidden()
    Participant(page, server, "slow").open()
    expect(page.locator("#agree")).to_be_enabled()
    expect(page.get_by_alt_text("QR code")).to_be_hidden()


def test_the_limit_decides_what_is_lost(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/join/slow")
    expect(page.locator("#agree")).to_be_enabled()
    # One reading is in one sample only, so that the sum decides.
    for checkins, level, sure, time in (
        (
            "20",
            "Very weak privacy",
            "practically certain. We call that very weak",
            "13 hours 20 minutes",
        ),
        ("3", "Moderate privacy", "96 times in 100. We call that moderate", "2 hours"),
        ("1", "Strong privacy", "74 times in 100. We call that strong", "40 minutes"),
        ("21", "Not private", "practically certain. We call that not private", "14 hours"),
    ):
        page.get_by_label("Stop after this many check-ins").fill(checkins)
        expect(page.locator("#lose-level")).to_have_text(level)
        expect(page.locator("#lose-said")).to_contain_text(sure)
        expect(page.locator("#checkins-epsilon")).to_have_text(f"ε = {checkins}")
        expect(page.locator("#total-time")).to_have_text(time)


def test_a_tap_on_an_answer_resumes_and_a_reload_recalls(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "slow", "Walking")
    expect(page.locator("#samples")).to_have_text(f"1 of {BATCH}")
    seconds, minutes = _outlook(page)
    assert EVERY - 30 < seconds <= EVERY
    assert minutes in (38, 39), "38 samples more"
    page.reload()
    participant.says("Paused. Nothing is collected.")
    assert page.evaluate(SMALL) == []
    participant.tap("Still")
    participant.says("Collecting: Still.")
    later, _ = _outlook(page)
    assert seconds - 30 < later <= seconds, "the sample before the reload counts"
    assert participant.collected() == 1
    inspect(page, "outlook")


def test_consent_on_a_slow_network(browse: Browse, server: Portal) -> None:
    """The time is computed from the bytes that are loaded; a clock would measure the machine."""
    page = browse(server, "phone-light", locale="de-DE")
    scale, asked = Scale(page), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/join/slow")
    expect(page.locator("#agree")).to_be_enabled()
    page.evaluate(SHIFT)
    page.wait_for_load_state("networkidle")
    assert len(asked) <= REQUESTS, asked
    # The connection, the page, then its files: three round trips.
    assert 8 * scale.bytes / BANDWIDTH + 3 * ROUND_TRIP <= SECONDS
    assert page.evaluate("shift") <= 0.01


def test_forty_answers(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "many")
    assert page.evaluate(BROKEN) == []
    buttons = page.locator("#labels button").filter(visible=True)
    expect(buttons).to_have_count(40)
    page.get_by_label("Search the answers").fill("BUS")
    expect(buttons).to_have_text(["on a bus"])
    expect(page.locator("#found-labels")).to_have_text("1 of 40 answers")
    participant.tap("on a bus")
    participant.says("Collecting: on a bus.")
    expect(buttons).to_have_count(40)
    expect(buttons.first).to_have_text("on a bus")
    expect(buttons.first).to_be_focused()
    participant.tap("place 7")
    expect(buttons.first).to_have_text("on a bus")  # nothing moves under a thumb
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate(BROKEN) == []
    page.reload()
    expect(buttons.nth(1)).to_have_text("on a bus")
    expect(buttons.first).to_have_text("place 7")
    participant.tap("Leave and erase everything")
    participant.tap("Leave and erase")
    participant.view("bye")
    assert page.evaluate("localStorage.length") == 0


def test_three_answers_need_no_search(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "slow", "Walking")
    expect(page.get_by_label("Search the answers")).to_be_hidden()
    pressed = participant.button("Walking")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    tick = "(button) => getComputedStyle(button.firstElementChild, '::before').content"
    assert "✓" in pressed.evaluate(tick), "beside the word"
    page.emulate_media(forced_colors="active")
    paints = [each.evaluate("(button) => getComputedStyle(button).backgroundColor")
              for each in (pressed, participant.button("Still"))]  # fmt: skip
    assert paints[0] != paints[1], "forced colours show it as well"


def _outlook(page: Page) -> tuple[int, int]:
    pattern = re.compile(r"Next sample in (\d+) seconds, about (\d+) minutes to the next message\.")
    expect(page.locator("#wait")).to_have_text(pattern)
    found = pattern.search(page.locator("#wait").inner_text())
    assert found
    return int(found[1]), int(found[2])


def test_the_header_does_not_end_it(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "changes", "Walking")
    expect(page.get_by_role("navigation")).to_be_hidden()
    participant.until(lambda: participant.collected() == 1)
    expect(page.locator("#wait")).to_have_text("The next sample is taken when your answer changes.")
    for name in ("crowdml", "About this task"):
        with page.context.expect_page() as other:
            page.get_by_role("link", name=name, exact=True).click()
        other.value.close()
        participant.says("Collecting: Walking.")


def test_a_code_typed_in_before_the_scripts_ran_stays(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    watch.expect("Service Worker registration blocked")
    page = browse(server, "phone-light", service_workers="block")
    held: list[Route] = []
    page.route("**/web/joined.js*", lambda route: held.append(route))
    with page.expect_request("**/web/joined.js*"):
        page.goto("/join/german", wait_until="commit")
    code = page.get_by_label("Invite code")
    code.fill("early")
    expect(page.locator("#loading")).to_have_text("Loading the program …")
    held[0].continue_()
    expect(page.get_by_role("button", name="Agree and take part")).to_be_enabled()
    expect(code).to_have_value("early")
    expect(page.locator("#loading")).to_be_hidden()


def test_in_german(browse: Browse, server: Portal, watch: Watch) -> None:
    watch.expect("console error: .* 40")
    page = browse(server, "phone-dark", locale="de-DE")
    participant = Participant(page, server, "german").open()
    code = page.get_by_label("Einladungscode")
    code.fill("falsch")
    participant.tap("Zustimmen und mitmachen")
    alert = "Diese Aufgabe braucht eine gültige Einladung, gefunden: eine, die unbekannt"
    expect(page.get_by_role("alert")).to_contain_text(alert)
    with server.store() as store:
        code.fill(store.invites.create(store.task("german").id, 1))
    participant.tap("Zustimmen und mitmachen")
    participant.says("Es wird nichts gemessen, bis Sie antworten.")
    participant.tap("Walking")
    participant.says("Sammelt: Walking.")
    participant.until_applied(1)
    expect(page.locator("#sent li").first).to_contain_text("Messungen · ")
    expect(page.locator("#per-sample")).to_have_text("ε = 1")
    inspect(page, "german")
    with server.store() as store:
        store.set_device_status(participant.stored()["identity"][0]["device"], "revoked")
    participant.view("ended")
    expect(page.locator("#ended-why")).to_have_text(
        "Der Betreiber der Aufgabe hat dieses Gerät ausgeschlossen."
    )
