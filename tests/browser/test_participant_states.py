"""What stops a participant, what can be decided then, and leaving."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import inspect, phone_task, running
from tests.support.servers import Portal
from tests.web.pages import add_tasks, change_task

pytestmark = pytest.mark.xdist_group("phones")
READY = "navigator.serviceWorker.ready.then((registration) => registration.active.state)"
RIGHT = re.compile(r"The crowd’s model guessed \d+ of your last \d+ samples right\.")


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    names = ("limit", "lower", "leave", "paused", "finished", "unseen", "terms", "bare-terms")
    return add_tasks(phones, *map(phone_task, names))


def test_other_terms_need_another_agreement(browse: Browse, server: Portal, watch: Watch) -> None:
    page = browse(server, "phone-light")
    watch.allow("console error: Failed to load resource")  # while the server restarts
    participant = running(page, server, "terms", "Walking", checkins=12)
    participant.until_applied(1)
    participant.tap("Pause")
    participant.says("Paused")
    participant.until_quiet()
    applied = participant.applied()
    new = phone_task("terms", privacy__epsilon=1.5, collection__batch=6)
    change_task(server, new)
    participant.tap("Resume")
    participant.view("terms")
    sentences = page.locator("#changes")
    expect(sentences).to_contain_text("Privacy becomes weaker: Very weak privacy, ε = 13 → ")
    expect(sentences).to_contain_text("→ Very weak privacy, ε = 19.5.")
    expect(sentences).to_contain_text("Samples in a check-in: 5 → 6")
    expect(page.locator("#changed")).to_be_hidden()
    page.get_by_text("Every change, field by field").click()
    expect(page.locator("#changed")).to_contain_text("privacy.epsilon")
    cells = page.locator("#changed tr", has_text="collection.batch").locator("td")
    assert cells.all_inner_texts() == ["5", "6"]
    expect(page.locator("#unchanged")).to_contain_text("model.kind")
    expect(page.locator(".compare")).not_to_contain_text("null")
    inspect(page, "terms-changed")
    sent, collected = len(participant.sent), participant.collected()
    page.wait_for_timeout(1500)
    assert (len(participant.sent), participant.collected()) == (sent, collected)
    participant.until(lambda: participant.applied() == applied)
    assert participant.stored()["identity"][0]["terms"] != new.terms.text
    participant.tap("Agree to the new terms")
    participant.says("Paused")
    assert participant.stored()["identity"][0]["terms"] == new.terms.text
    participant.tap("Resume")
    participant.tap("Walking")
    participant.until_applied(applied + 1)


def test_terms_without_privacy_cannot_be_agreed_to(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    page = browse(server, "phone-light")
    watch.allow("console error: Failed to load resource")  # while the server restarts
    participant = running(page, server, "bare-terms", "Walking", checkins=12)
    participant.until_applied(1)
    participant.tap("Pause")
    participant.until_quiet()
    change_task(server, phone_task("bare-terms", privacy__epsilon=2.0))
    participant.tap("Resume")
    participant.view("terms")
    expect(page.get_by_text("does not go on without privacy")).to_be_visible()
    # What the device rejects is not offered.
    expect(page.locator("#agree-again")).to_be_hidden()
    expect(page.locator("#limit-form")).to_be_hidden()


def test_at_the_limit_it_stops_and_says_so(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "limit", "Walking", checkins=2)
    participant.says("Your privacy limit is reached.")
    expect(page.locator("#per-device")).to_have_text("ε = 2 of 2")
    participant.until(lambda: participant.applied() == 2)
    inspect(page, "limit")
    participant.until_quiet()
    before = participant.collected()
    page.wait_for_timeout(500)
    assert (participant.applied(), participant.collected()) == (2, before)
    # One reading is in up to 13 samples, so ε = 13 for it whatever the limit is.
    more = "ε = 3 in total instead of 2. For one reading of your sensor it is at most ε = 13"
    expect(page.locator("#more-cost")).to_contain_text(more)
    expect(page.locator("#more-time")).to_contain_text("One more check-in takes about")
    participant.tap("Stop here")
    expect(page.locator("#more-cost")).to_be_hidden()
    page.get_by_label("Your limit, in check-ins").fill("12")
    expect(page.locator("#limit-cost")).to_contain_text("We call that very weak.")
    page.reload()
    participant.tap("Allow 1 more check-in")
    participant.tap("Walking")  # which resumes, too
    participant.until_applied(3)
    expect(page.locator("#per-device")).to_have_text("ε = 3 of 3")


def test_the_limit_can_be_lowered(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "lower", "Walking")
    participant.until_applied(1)
    page.get_by_label("Your limit, in check-ins").fill("1")
    participant.tap("Set the limit")
    participant.says("Your privacy limit is reached.")
    participant.until_quiet()
    applied = participant.applied()
    page.wait_for_timeout(400)
    participant.until(lambda: participant.applied() == applied)
    assert participant.stored()["identity"][0]["limits"]["perDevice"] == 1


def test_leaving_erases_everything(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "leave", "Walking")
    participant.until_applied(1)
    token = participant.stored()["identity"][0]["token"]
    participant.tap("Leave and erase everything")
    inspect(page, "leaving")
    participant.tap("Stay")
    participant.says("Collecting")
    participant.tap("Leave and erase everything")
    participant.tap("Leave and erase")
    participant.view("bye")
    inspect(page, "bye")
    assert page.evaluate("localStorage.length") == 0
    assert page.evaluate("indexedDB.databases()") == []
    with server.connected() as wire:
        assert wire.get("/v1/tasks/leave/model", token).status in (401, 403)
    page.reload()
    expect(participant.button("Agree and take part")).to_be_enabled()


def test_a_paused_task(browse: Browse, server: Portal, watch: Watch) -> None:
    watch.allow("console error: .* 409")
    page = browse(server, "phone-light")
    participant = running(page, server, "paused", "Walking")
    participant.until_applied(1)
    with server.store() as store:
        store.set_task_state("paused", "paused")
    participant.says("The task is paused by its owner.")
    inspect(page, "task-paused")
    with server.store() as store:
        store.set_task_state("paused", "running")
    applied = participant.applied()
    participant.until_applied(applied + 1)
    participant.says("Collecting")


def test_a_task_that_finishes(browse: Browse, server: Portal, watch: Watch) -> None:
    """What was learnt, how well it works, the model to try and keep: also without a network."""
    watch.allow("console error: .* 409")
    watch.allow("ERR_INTERNET_DISCONNECTED")
    page = browse(server, "phone-light")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url + (request.post_data or "")))
    participant = running(page, server, "finished", "Walking")
    accuracy = page.locator("#accuracy-title + [data-personal-accuracy]")
    expect(accuracy).to_have_text("Known after your first check-in.")
    participant.until_applied(5)
    expect(accuracy).to_contain_text(RIGHT)
    expect(accuracy.get_by_role("img", name="Over time: ")).to_be_visible()
    with server.store() as store:
        store.set_task_state("finished", "stopped")
    participant.view("ended")
    expect(page.locator("#sent-title")).to_be_visible()
    expect(page.get_by_text("waits to leave")).to_be_hidden()
    participant.tap("Erase everything")
    expect(page.get_by_role("dialog", name="Erase everything?")).to_be_visible()
    participant.tap("Keep")
    expect(page.get_by_role("button", name="Set the limit")).to_be_hidden()
    expect(page.locator("#ended-accuracy-title + [data-personal-accuracy]")).to_contain_text(RIGHT)
    expect(page.locator("#learnt")).to_have_text(
        re.compile(r"The crowd’s model has learnt from \d+ check-ins\.")
    )
    expect(page.locator("#became")).to_contain_text("check-ins were yours, the first was number 1.")
    inspect(page, "ended")
    tallies = [sent["tally"] for sent in participant.stored()["sent"]]
    assert {"right", "samples"} == set(tallies[-1])
    assert not [each for each in asked if "right" in each or "tall" in each]
    participant.tap("Keep it on this device")
    expect(page.locator("#kept")).to_contain_text("without a network")
    page.evaluate(READY)
    page.reload()
    participant.view("ended")
    page.context.set_offline(True)
    page.reload()
    participant.view("ended")
    expect(page.locator("#became")).to_contain_text("check-ins were yours, the first was number 1.")
    participant.tap("Sense and predict")
    expect(page.get_by_text("The model says:")).to_be_visible()
    participant.tap("Stop")
    page.context.set_offline(False)
    participant.tap("Erase everything")
    participant.tap("Erase")
    participant.view("bye")
    assert page.evaluate("indexedDB.databases()") == []


def test_a_task_that_finished_while_nobody_looked(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    participant = running(page, server, "unseen")
    # Nothing is read yet, so there is nothing to pause.
    expect(participant.button("Pause")).to_be_hidden()
    page.goto("about:blank")
    with server.store() as store:
        store.set_task_state("unseen", "stopped")
    participant.until(lambda: _state(server, "unseen") == "stopped")
    participant.open()
    participant.view("ended")
    expect(page.locator("#became")).to_be_empty()
    expect(page.locator("#learnt")).to_have_text("It has learnt nothing yet.")
    assert participant.stored()["sent"] == []
    stats = page.request.get("/v1/tasks/unseen/stats").text().replace("stopped", "running")
    page.route("**/unseen/stats", lambda route: route.fulfill(body=stats))  # it is reopened
    page.reload()
    participant.says("Paused. Nothing is collected.")


def _state(server: Portal, task: str) -> str:
    with server.connected() as wire:
        state: str = wire.get(f"/v1/tasks/{task}").json()["state"]
    return state
