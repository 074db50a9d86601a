"""From a label and a movement to a check-in, whatever happens on the way."""

import base64
import json
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Route, expect

from crowdml.protocol import Start, Task
from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, inspect, phone_task, running
from tests.support.servers import Portal
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    names = ("shaken", "killed", "offline", "hidden", "halted", "twins", "jumpy")
    return add_tasks(phones, *map(phone_task, names), _piloted())


def test_a_label_and_movement_make_a_check_in(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "shaken")
    participant.says("Nothing is read until you answer.")
    expect(page.locator("#model-guess")).to_have_text("after your answer")
    expect(page.locator("#signal-text")).to_have_text("No readings yet.")
    participant.shake(0.8)
    assert participant.collected() == 0
    assert participant.sent == []
    participant.tap("Walking")
    expect(participant.button("Walking")).to_have_attribute("aria-pressed", "true")
    participant.until_applied(2)
    participant.says("Collecting: Walking.")
    participant.shake(0.5)
    expect(page.locator("#signal-text")).to_contain_text("m/s²")
    expect(page.locator("#model-guess")).to_have_text("no guess yet")
    inspect(page, "collecting")
    participant.tap("Pause")
    _check_what_was_sent(participant)
    inspect(page, "sent")


def _piloted() -> Task:
    """Make a task with constants for the sensor's features, and a start."""
    constants: dict[str, Any] = {"center": (0.1,) * 9, "scale": (0.5,) * 9, "length": 4.0}
    weights = np.outer([1.0, 0.5, -1.5], np.linspace(0.1, 0.9, 9))
    labels = ("Still", "Walking", "Jogging")
    return phone_task(
        "piloted",
        start=Start("softmax", labels, weights, norm=1, rows=200, people=4, **constants),
        model__start="a.start.npz",
        model__pilot="two afternoons",
        **{f"features__{name}": value for name, value in constants.items()},
    )


def test_a_start_is_told_and_checked(browse: Browse, server: Portal) -> None:
    """The first check-out has the hash of the terms, so a check-in of constants and all is made."""
    page = browse(server, "phone-light")
    participant = Participant(page, server, "piloted").open()
    said = "The model starts from a pilot of 200 samples of 4 people (two afternoons)."
    expect(page.locator("#start-said")).to_have_text(said)
    participant.agree(1000).tap("Walking")
    kept: list[Any] = []

    def has_kept_one() -> bool:
        kept.extend(participant.stored()["buffer"])
        return len(kept) > 0

    participant.until(has_kept_one)
    # A phone that lies still has a spectrum of one bin: (1 − 0.1)/0.5/4, and −0.1/0.5/4.
    assert kept[0]["x"] == pytest.approx([0.45] + [-0.05] * 8, abs=1e-3)
    participant.until_applied(1)


def _check_what_was_sent(participant: Participant) -> None:
    """Check that the list shows the sent bytes beside the true values."""
    page = participant.page
    participant.until(lambda: page.locator("#sent li").count() == participant.applied())
    oldest = page.locator("#sent li").last
    oldest.locator("details").evaluate("(each) => (each.open = true)")
    message = json.loads(participant.sent[0])
    assert json.loads(oldest.locator("pre").inner_text()) == message
    n = message["samples"]
    expect(oldest.locator("summary")).to_contain_text(f"{n} samples · used")
    rows = [row.inner_text().split("\t") for row in oldest.locator("tbody tr").all()]
    value = int.from_bytes(base64.b64decode(message["gradient"])[:4], "little", signed=True)
    assert rows[0][2] == f"{value * 2.0 ** message['grid']:.4f}"
    assert rows[-2] == ["Walking", str(n), str(message["labels"][1])]
    assert rows[-1] == ["Jogging", "0", str(message["labels"][2])]


def test_a_tab_killed_before_sending_sends_the_same_bytes_later(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    # A request that a service worker has seen could not be held back.
    page = browse(server, "phone-light", service_workers="block")
    watch.expect("Service Worker registration blocked")
    watch.allow("console error: Failed to load resource")
    held: list[Route] = []
    page.context.route("**/checkins", lambda route: held.append(route))
    participant = running(page, server, "killed", "Jogging")
    participant.until(lambda: len(held) == 1)
    participant.hide()
    # Chromium may still send a request that is held back when its tab closes: end it first. Should
    # one slip through all the same, it is applied, and what follows is a duplicate of it.
    held[0].abort()
    page.close()
    page.context.unroute("**/checkins")
    assert participant.applied() <= 1
    participant.reopen()
    participant.until_applied(1)
    participant.until(lambda: len(participant.sent) > 1)
    assert participant.sent[1] == participant.sent[0]
    participant.says("Paused. Nothing is collected.")
    inspect(participant.page, "welcome-back")
    expect(participant.button("Still")).to_be_enabled()
    participant.tap("Resume")
    participant.says("Nothing is read until you answer.")
    participant.tap("Jogging")
    participant.until_applied(2)
    participant.tap("Pause")
    participant.says("Paused")
    _still(participant, 0.1)
    assert len(set(participant.sent)) == participant.applied() == len(participant.stored()["sent"])


def test_without_a_network_the_buffer_fills_and_is_sent_later(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    page = browse(server, "phone-light")
    watch.expect("ERR_INTERNET_DISCONNECTED")
    participant = running(page, server, "offline")
    page.context.set_offline(True)
    participant.note()
    participant.tap("Still")
    participant.has_said("Waiting for the network.")
    participant.has_said("Goes on as soon as there is a network.")
    inspect(page, "offline")
    participant.says("The buffer is full")
    assert participant.collected() == 40
    participant.until(lambda: participant.applied() == 0)
    page.context.set_offline(False)
    participant.until_applied(1)
    participant.until(lambda: bool(participant.sent))
    assert json.loads(participant.sent[-1])["samples"] >= 5
    participant.says("Collecting: Still.")


def test_nothing_is_collected_in_the_background(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "hidden", "Walking")
    participant.until_applied(1)
    participant.hide()
    participant.says("Paused in the background.")
    before = _still(participant, 0.7)
    participant.hide(False)
    participant.says(
        "while this page was in the background. Check that your answer is still right."
    )
    inspect(page, "returned")
    participant.until(lambda: participant.collected() > before + 5)


def _still(participant: Participant, seconds: float) -> int:
    """Return the number of samples, and check that it does not grow for a while."""
    participant.until_quiet()
    before = participant.collected()
    participant.page.wait_for_timeout(1000 * seconds)
    assert participant.collected() == before
    return before


def test_pause_and_resume(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "halted", "Walking")
    participant.until_applied(1)
    participant.tap("Pause")
    participant.says("Paused. Nothing is collected.")
    before = _still(participant, 0.5)
    participant.tap("Resume")
    participant.says("Collecting: Walking.")
    participant.until(lambda: participant.collected() > before + 5)


def test_two_tabs_do_not_take_one_moment_twice(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    # One tab erases what the other may be reading at that moment.
    watch.allow("database connection is closing")
    page = browse(server, "phone-light")
    other = running(page, server, "twins", "Walking").reopen()
    other.tap("Walking")
    other.says("Another tab of this browser takes part.")
    other.press("Leave and erase everything")
    other.tap("Leave and erase")
    other.view("bye")
    expect(page.locator("#bye-title")).to_be_visible()


def test_a_screen_that_may_turn_off(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.add_init_script("navigator.wakeLock.request = () => Promise.reject(new Error('no'));")
    running(page, server, "jumpy", "Walking")
    expect(page.locator("#screen")).to_contain_text("may turn the screen off")
