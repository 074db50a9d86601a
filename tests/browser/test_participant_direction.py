"""A task that asks each person for a few small numbers: what its page says, and that it is true."""

import json
import math
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Browse
from tests.browser.participants import Participant, inspect, phone_task, running
from tests.support.servers import Portal
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")

ALL_MADE = "all check-ins that you agreed to are made. Thank you."
ONE = phone_task("once", privacy__mechanism="direction", privacy__epsilon=4.0)
THREE = phone_task(
    "thrice",
    privacy__mechanism="direction",
    privacy__epsilon=6.0,
    collection__checkins=3,
    collection__evaluators=0.45,
    collection__counters=0.45,
)


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    return add_tasks(phones, ONE, THREE, phone_task("gaussian", privacy__mechanism="gaussian"))


def test_one_number_in_all(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "once").open()
    expect(page.locator("#lose-level")).to_have_text("Moderate privacy")
    expect(page.locator("#lose-said")).to_contain_text("right 983 times in 1,000")
    sends = (
        "it sends only your answer to one sample. The answer sent is the true one 96 times in 100"
    )
    expect(page.locator("#leaves-said")).to_contain_text(sends)
    expect(page.locator("#leaves-said")).to_contain_text("It sends one check-in, and no more.")
    expect(page.get_by_label("Stop after this many check-ins")).to_be_hidden()
    _says_nothing_of_noise(page.locator("main"))
    inspect(page, "direction-consent")
    participant.agree()
    assert participant.stored()["identity"][0]["limits"] == {"perSample": 4, "perDevice": 4}
    participant.tap("Walking")
    participant.view("ended")
    expect(page.locator("#ended-why")).to_have_text(ALL_MADE)
    expect(page.locator("#per-device")).to_have_text("ε = 4 of 4")
    expect(page.locator("#limit-said")).to_contain_text("right 983 times in 1,000")
    expect(page.get_by_label("Your limit, in check-ins")).to_be_hidden()
    _says_nothing_of_noise(page.locator("main"))
    participant.until(lambda: participant.applied() == len(participant.sent) == 1)
    _check_what_was_sent(participant, page.locator("#sent li"), 0)
    inspect(page, "direction-ended")
    page.reload()
    participant.view("ended")


def test_a_few_numbers_and_a_limit_of_ones_own(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "thrice").open()
    expect(page.locator("#checkins")).to_have_attribute("max", "3")
    expect(page.locator("#checkins-epsilon")).to_have_text("ε = 6")
    page.get_by_label("Stop after this many check-ins").fill("4")
    participant.tap("Agree and take part")
    expect(page.locator("#status")).to_be_hidden()
    participant.agree(checkins=1)
    participant.tap("Jogging")
    participant.says("Your privacy limit is reached.")
    expect(page.locator("#per-device")).to_have_text("ε = 2 of 2")
    participant.until(lambda: participant.applied() == 1)
    participant.tap("Allow 1 more check-in")
    expect(page.locator("#per-device")).to_have_text("ε = 4 of 4")
    participant.until(lambda: participant.applied() == 2)
    participant.tap("Allow 1 more check-in")
    participant.view("ended")
    expect(page.get_by_role("button", name="Set the limit")).to_be_hidden()
    expect(page.locator("#per-device")).to_have_text("ε = 6 of 6")
    participant.until(lambda: participant.applied() == 3)
    for number in range(3):
        _check_what_was_sent(participant, page.locator("#sent li"), number)


def test_gaussian_noise_has_a_small_chance_to_tell_more(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "gaussian", "Walking", checkins=20)
    participant.until_applied(2)
    participant.tap("Pause")
    participant.until_quiet()
    said = page.locator("#limit-said")
    expect(said).to_contain_text(
        "With a chance of one in 1,000,000, the δ of this task, more can be learnt than that."
    )
    expect(said).to_contain_text("For a single sample it would be 76 times in 100.")
    expect(page.get_by_label("Your limit, in check-ins")).to_have_value("20")
    spent, limit = re.findall(r"[\d.]+", page.locator("#per-device").inner_text())
    assert 1 < float(spent) < participant.applied(), "they cost less together than one by one"
    assert 5 < float(limit) < 6


def _says_nothing_of_noise(part: Locator) -> None:
    """Check that the page has no sentences that hold only for other tasks."""
    assert not re.search(r"\bnoise|each sample|any one sample", part.inner_text(), re.IGNORECASE)


def _check_what_was_sent(participant: Participant, lines: Locator, number: int) -> None:
    """Check the sent number, the truth, and how likely the number was, newest first."""
    expect(lines).to_have_count(participant.applied())
    line = lines.nth(participant.applied() - 1 - number)
    line.locator("details").evaluate("(each) => (each.open = true)")
    message = json.loads(participant.sent[number])
    assert json.loads(line.locator("pre").inner_text()) == message
    expect(line.locator("summary")).to_contain_text("one number · used")
    (cells,) = (row.locator("td").all_inner_texts() for row in line.locator("tbody tr").all())
    probability, least, most = re.findall(r"([\d.]+)\s%", line.locator("p").inner_text())
    kept = {"id", "time", "body", "tally", "version"}
    assert all(set(each) == kept for each in participant.stored()["sent"])
    if "direction" in message:
        # Of k = 1,024 the best t for ε = 4 and for ε = 2.
        assert re.fullmatch(r"one of the (67|221) of 1,024 that suit your samples best", cells[0])
        which = rf"number {message['direction']:,}, which is (not )?one of them"
        assert re.fullmatch(which, cells[1])
    elif "wrong" in message:
        assert cells[0] in ("right", "wrong")
        assert cells[1] == ("right", "wrong")[message["wrong"]]
    else:
        labels = participant.page.locator("#labels button").all_text_contents()
        assert cells[0] in labels
        assert cells[1] == labels[message["answer"]]
    epsilon = participant.stored()["ledger"][number]["event"]["epsilon"]
    assert float(most) / float(least) == pytest.approx(math.exp(epsilon), rel=0.06), "2 digits"
    assert float(least) <= float(probability) <= float(most)
