"""Joining from a phone: what is read, what is agreed to, and what is rejected."""

import re

import pytest
from playwright.sync_api import Route, expect

from crowdml.protocol import terms_hash
from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, inspect, phone_task
from tests.support.servers import Portal, make_task
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")

MOVING = phone_task()


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    tasks = [
        MOVING,
        phone_task("club", enrolment__mode="invite"),
        phone_task("open-data", privacy__epsilon=float("inf")),
        phone_task("done"),
        phone_task("lamp", features__sensor__kind="light"),
        make_task("features"),
    ]
    add_tasks(phones, *tasks)
    with phones.store() as store:
        store.set_task_state("done", "stopped")
    return phones


def test_by_the_button_beside_the_code(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/tasks/moving/join#other")
    page.get_by_role("link", name="Take part in this browser").click()
    participant = Participant(page, server)
    expect(page.get_by_role("heading", name="Before you take part")).to_be_visible()
    expect(page.locator("#checkins-epsilon")).to_have_text("ε = 20")
    inspect(page, "consent")
    page.get_by_text("The full terms").click()
    expect(page.locator("#terms-checked")).to_contain_text("they match")
    page.locator("#checkins").fill("15")
    expect(page.locator("#checkins-epsilon")).to_have_text("ε = 15")
    page.locator("#checkins").fill("7")
    # One reading of the sensor is in up to 13 samples, however few check-ins there are.
    expect(page.locator("#checkins-epsilon")).to_have_text("ε = 13")
    expect(page.locator("#lose-level")).to_have_class("level level-very-weak")
    expect(page.locator("#lose-said")).to_contain_text(
        "ε = 7 for one sample in each of 7 check-ins"
    )
    participant.agree()
    (me,) = participant.stored()["identity"]
    assert me["terms"] == MOVING.terms.text
    assert me["limits"] == {"perSample": 1, "perDevice": 7}


def test_everything_to_know_can_be_read_without_scripts(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light", java_script_enabled=False)
    page.goto("/join/moving")
    # The browser's tools switch scripts off too late for <noscript> to be shown.
    assert "Taking part needs JavaScript" in page.locator("noscript").inner_html()
    expect(page.get_by_text("Your readings never leave your device.").first).to_be_visible()
    expect(page.get_by_text("and ε = 1 for a single sample.").first).to_be_attached()
    assert page.locator("#terms-text").text_content() == MOVING.terms.text
    expect(page.get_by_text(terms_hash(MOVING.terms.text))).to_be_attached()
    expect(page.locator("#running-title")).to_be_hidden()


def test_a_text_that_does_not_match_its_hash_is_rejected(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")

    def forge(route: Route) -> None:
        answer = route.fetch()
        before, text = answer.text().split('<pre id="terms-text"')
        route.fulfill(response=answer, body='<pre id="terms-text"'.join([before, _lie(text)]))

    page.route("**/join/moving", forge)
    page.goto("/join/moving")
    expect(page.get_by_role("alert")).to_contain_text("Do not join")
    expect(page.locator("#agree")).to_be_disabled()
    inspect(page, "forged")


def _lie(text: str) -> str:
    return text.replace("Spectrum", "Average", 1)


def test_terms_that_changed_since_the_page_was_read(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    other = phone_task(privacy__epsilon=2.0).terms.text

    def change(route: Route) -> None:
        changes = {"terms": other, "terms_sha256": terms_hash(other)}
        route.fulfill(json=route.fetch().json() | changes)

    page.context.route("**/v1/tasks/moving", change)
    participant = Participant(page, server).open()
    participant.tap("Agree and take part")
    expect(page.get_by_role("alert")).to_contain_text("Load this page again")
    assert participant.stored() == {} or participant.stored()["identity"] == []


def test_an_invite(browse: Browse, server: Portal, watch: Watch) -> None:
    with server.store() as store:
        code = store.invites.create(store.task("club").id, 1)
    page = browse(server, "phone-light")
    watch.expect("console error: .* 40")
    participant = Participant(page, server, "club").open()
    page.get_by_label("Invite code").fill("wrong")
    participant.tap("Agree and take part")
    field = page.get_by_label("Invite code")
    expect(page.get_by_role("alert")).to_contain_text("invite")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("this task needs a valid invite", re.I))
    expect(field).to_be_focused()
    first = page.get_by_role("alert").evaluate(
        "(alert) => getComputedStyle(alert, '::first-letter').textTransform"
    )
    assert first == "uppercase"
    inspect(page, "invite")
    field.press("End")
    field.press("x")
    expect(page.get_by_role("alert")).to_have_count(0)
    participant.open("/").open(f"/join/club#invite={code}")
    expect(page.get_by_label("Invite code")).to_have_value(code)
    participant.agree()
    assert code not in page.url


def test_a_task_that_is_not_private_must_be_accepted_by_name(
    browse: Browse, server: Portal
) -> None:
    page = browse(server, "phone-light")
    participant = Participant(page, server, "open-data").open()
    expect(page.get_by_text("THIS TASK IS NOT PRIVATE.")).to_be_visible()
    inspect(page, "not-private")
    participant.tap("Agree and take part")
    page.wait_for_timeout(100)
    expect(page.locator("#consent-title")).to_be_visible()
    assert participant.stored() == {} or participant.stored()["identity"] == []
    page.locator("#consent-form").get_by_label("NOT PRIVATE").check()
    participant.agree()
    expect(page.locator("#per-device")).to_have_text("ε = 0 of ∞")
    participant.tap("Walking")
    participant.until_applied(1)
    expect(page.locator("#per-device")).to_have_text("ε = ∞ of ∞")
    expect(page.locator("#limit-form")).to_be_hidden()


def test_a_task_that_has_ended(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    Participant(page, server, "done").until(
        lambda: page.request.get("/v1/tasks/done").json()["state"] == "stopped"
    )
    page.goto("/join/done")
    ended = page.get_by_text("This task has ended").bounding_box()
    first = page.get_by_text("Who asks?").bounding_box()
    assert ended
    assert first
    assert ended["y"] < first["y"], "before anybody reads on"
    expect(page.locator("#terms-checked")).to_have_text(re.compile("they match"))
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("button", name="Agree and take part")).to_have_count(0)
    inspect(page, "closed")


def test_features_that_a_browser_cannot_make(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/join/features")
    expect(page.get_by_text("A browser cannot take part in this task")).to_be_visible()
    inspect(page, "impossible")
    page.get_by_role("link", name="Other ways to take part").click()
    expect(page).to_have_title("Join Activity · crowdml")


def test_a_sensor_that_this_browser_lacks(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/join/lamp")
    expect(page.get_by_role("alert")).to_contain_text("This browser has no light sensor")
    expect(page.locator("#agree")).to_be_disabled()


def test_a_program_that_was_changed_on_the_way_does_not_run(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    page = browse(server, "phone-light")
    watch.expect("console error: .*integrity.*")
    rejected: list[str] = []
    page.on("console", lambda said: rejected.append(said.text) if said.type == "error" else None)

    def change(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text() + "\nglobalThis.otherProgram = true;\n")

    page.route("**/web/joined.js*", change)
    page.goto("/join/moving", wait_until="networkidle")
    assert page.evaluate("globalThis.otherProgram ?? false") is False
    assert any("integrity" in words and "joined.js" in words for words in rejected)
    expect(page.get_by_role("button", name="Agree and take part")).to_be_disabled()
