"""The owner's area in a browser: from the first sign-in to the last sign-out."""

import re
import subprocess
import sys
import time
from datetime import datetime
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.page_checks import barriers, fits, overflow_of_large_text, show_all
from tests.browser.portals import ServePortal
from tests.support.servers import (
    PATIENCE,
    Portal,
    direction_checkin,
    enrolled,
    make_task,
    problem_kind,
)

PASSWORD = "correct horse battery"
TASK = make_task(
    "steps",
    __title="How many steps?",
    features__count=33,
    target__labels=["few", "many"],
    enrolment__mode="invite",
)


def add_owner(portal: Portal, name: str) -> None:
    command = ["crowdml", "owner", "add", name, "--password-file", "-"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", *command, "--database", portal.database],
        input=PASSWORD,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, f"added {name}\n"), done.stderr


def examine(page: Page) -> None:
    """Check the page as it is, without loading it again; `read_german` checks some in light."""
    show_all(page)
    assert fits(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    assert fits(page)
    assert barriers(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert fits(page)
    assert overflow_of_large_text(page) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_an_owner_from_first_to_last(
    serve_portal: ServePortal, browse: Browse, watch: Watch
) -> None:
    portal = serve_portal()
    portal.end_simulations()
    page, visitor = browse(portal), browse(portal, "phone-light")
    page.goto("/owner")
    expect(page.get_by_text("This server has no owner yet.")).to_be_visible()
    add_owner(portal, "ada")

    page.reload()
    watch.expect("console error: .* 403")
    sign_in(page, "a wrong password")
    expect(page.get_by_role("alert")).to_have_text("This name and password do not belong together.")
    examine(page)
    sign_in(page, PASSWORD)
    expect(page).to_have_url(f"{portal.url}/owner")
    cookie = page.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")

    create_task(page)
    visitor.goto("/")
    visitor.get_by_role("link", name="How many steps?").click()
    expect(visitor.locator(".state")).to_have_text("Recruiting")

    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".notice")).to_contain_text("The task is paused")
    expect(visitor.locator(".state")).to_have_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".notice")).to_contain_text("takes check-ins again")
    expect(visitor.locator(".state")).to_have_text("Recruiting")

    edit(page, visitor)
    invite_and_revoke(page, visitor, portal)
    export(page)
    examine(page)
    forged = page.request.post("/owner/tasks/steps/state", form={"state": "paused"})
    assert forged.status == 403

    page.get_by_role("link", name="Your tasks").click()
    steps = page.get_by_role("row", name=re.compile("How many steps")).first
    expect(steps).to_contain_text("Running")
    examine(page)
    delete(page, portal)
    german = browse(portal, "phone-light", locale="de-AT", timezone_id="Asia/Tokyo")
    carry(german, portal, cookie["value"])
    read_german(german)
    expect_local_times(german)
    page.get_by_role("button", name="Sign out ada").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert page.context.cookies() == []
    # A copy of the cookie is worthless now.
    carry(page, portal, cookie["value"])
    page.goto("/owner/tasks/steps")
    expect(page).to_have_url(re.compile("/owner/sign-in"))

    assert portal.stop() == 0
    assert portal.complaints == []


def carry(page: Page, portal: Portal, session: str) -> None:
    page.context.add_cookies([{"name": "crowdml", "value": session, "url": portal.url}])


def create_task(page: Page) -> None:
    page.get_by_role("link", name="Create a task").click()
    examine(page)
    assert len(visible_fields(page)) == 12
    expect(page.get_by_label("Who asks")).to_have_value("ada")
    page.get_by_text("Address", exact=True).click()
    page.get_by_label("Name", exact=True).fill("steps")
    page.get_by_label("Title", exact=True).fill(TASK.title)
    page.get_by_label("Objective").fill(TASK.objective)
    page.get_by_label("How to reach you").fill(TASK.terms.contact)
    page.get_by_label("Purpose").fill(TASK.terms.purpose)
    page.get_by_label("Sensor data in plain words").fill(TASK.terms.sensors)
    page.get_by_label("Labels", exact=True).fill("few\nmany")
    page.get_by_label("Who may join").select_option("invite")
    # The device that joins must train, or no model could be exported.
    page.get_by_text("More about check-ins").click()
    page.get_by_label("Share of check-ins that only send right or wrong").fill("0")
    page.get_by_label("Share of check-ins that only send one answer").fill("0")
    fix_all_mistakes_in_one_round(page)
    ask_what_the_crowd_will_reach(page)
    page.get_by_role("button", name="Preview").first.click()
    expect(page.get_by_role("heading", level=3).first).to_have_text(TASK.title)
    examine(page)
    go_back_and_forward(page)
    page.get_by_role("button", name="Create this task").click()
    expect(page.locator(".notice")).to_contain_text("The task is created")


def go_back_and_forward(page: Page) -> None:
    """After Back, Forward and reload, the form has what was last sent."""
    for step in (page.go_back, page.go_forward, page.reload):
        step()
        for label, value in {
            "Title": TASK.title, "How to reach you": TASK.terms.contact, "Labels": "few\nmany",
        }.items():  # fmt: skip
            expect(page.get_by_label(label, exact=True)).to_have_value(value)
        expect(page.get_by_label("Who may join")).to_have_value("invite")
    expect(page.get_by_role("heading", level=3).first).to_have_text(TASK.title)


def ask_what_the_crowd_will_reach(page: Page) -> None:
    """Check that the forecast appears in the form, or that the page says what is wrong."""
    advice = page.locator("#task [data-plan]")
    advice.get_by_role("button").click()
    expect(advice.locator("p").first).to_be_visible()
    page.get_by_label("Labels", exact=True).fill("few")
    page.get_by_role("button", name="Preview").first.click()
    expect(page.get_by_role("alert")).to_contain_text("One thing is wrong:")
    page.get_by_label("Objective").fill("")
    advice.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_contain_text("2 things are wrong:")
    page.get_by_label("Objective").fill(TASK.objective)
    page.get_by_label("Labels", exact=True).fill("few\nmany")


def visible_fields(page: Page) -> list[str]:
    """Return the fields of the form that are visible before anything is unfolded."""
    inputs = page.locator("#task :is(input, select, textarea):not([type=hidden])")
    names: list[str] = inputs.filter(visible=True).evaluate_all("(all) => all.map((e) => e.name)")
    return names


def fix_all_mistakes_in_one_round(page: Page) -> None:
    sentences = {
        "Labels": (
            "few",
            "This must have two or more entries, or none to predict a number, found one.",
        ),
        "Samples in a check-in": ("three", 'from 1 to 100,000, found "three".'),
        "Confidence": ("2", "This must be a number above 0.5 and below 1, found 2."),
    }
    page.get_by_text("End earlier at a target error").click()
    for label, (value, _) in sentences.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Preview").first.click()
    expect(page.get_by_role("alert")).to_contain_text("3 things are wrong:")
    expect(page.locator("[aria-invalid=true]")).to_have_count(3)
    expect(page.get_by_label("Labels", exact=True)).to_be_focused()
    for label, (value, sentence) in sentences.items():
        field = page.locator(".field", has=page.get_by_label(label, exact=True))
        expect(field.locator(".wrong")).to_contain_text(sentence)
        expect(field.locator(".wrong")).to_be_visible()
        expect(page.get_by_label(label, exact=True)).to_have_value(value)
        page.get_by_role("alert").get_by_role("link", name=label, exact=True).click()
        expect(page.get_by_label(label, exact=True)).to_be_in_viewport()
    expect(page.get_by_label("Title", exact=True)).to_have_value(TASK.title)
    examine(page)
    page.get_by_label("Labels", exact=True).fill("few\nmany")
    page.get_by_label("Samples in a check-in").fill(str(TASK.terms.collection.batch))
    page.get_by_label("Confidence").fill("")


def edit(page: Page, visitor: Page) -> None:
    page.get_by_text("Edit title, objective and end").click()
    page.get_by_label("Title", exact=True).fill("How many steps today?")
    page.get_by_label("Most check-ins in total").fill("none")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Most check-ins in total")).to_be_focused()
    examine(page)
    page.reload()  # which sends nothing again
    expect(page.get_by_label("Most check-ins in total")).to_have_value("none")
    page.get_by_label("Most check-ins in total").fill("900")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_have_text("The changes are saved.")
    visitor.reload()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("How many steps today?")


def delete(page: Page, portal: Portal) -> None:
    with portal.store() as store:
        store.create_task(make_task("mistaken", __title="A mistake"))
    expect_reload(page, "A mistake")
    page.get_by_role("link", name="A mistake", exact=True).click()
    page.locator("summary", has_text="Delete this task").click()
    page.get_by_label("To confirm, type the task’s name: “mistaken”").last.fill("mistaken")
    page.get_by_role("button", name="Delete this task").click()
    expect(page.locator(".notice")).to_have_text("The task is deleted.")
    expect(page.get_by_role("link", name="A mistake", exact=True)).to_have_count(0)


def read_german(page: Page) -> None:
    for path, heading in {
        "/owner": "Ihre Aufgaben",
        "/owner/new": "Aufgabe anlegen",
        "/owner/tasks/steps": "How many steps today?",
    }.items():
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        assert fits(page)
        assert barriers(page) == []
        assert overflow_of_large_text(page) == []


def expect_local_times(page: Page) -> None:
    at = page.locator("time").first
    exact = datetime.fromisoformat(str(at.get_attribute("datetime")))
    there = exact.astimezone(ZoneInfo("Asia/Tokyo"))
    expect(at).to_have_text(f"{there:%d.%m.%Y, %H:%M}")
    expect(at).to_have_attribute("title", f"{exact:%Y-%m-%d %H:%M} UTC")


def expect_reload(page: Page, link: str) -> None:
    """Reload until a task appears that another process has created."""
    end = time.monotonic() + PATIENCE
    while not page.get_by_role("link", name=link, exact=True).count():
        assert time.monotonic() < end
        page.reload()


def invite_and_revoke(page: Page, visitor: Page, portal: Portal) -> None:
    page.get_by_role("button", name="Make an invite").click()
    code = page.locator(".invite").inner_text()
    page.reload()
    expect(page.locator(".invite")).to_have_text(code)
    expect(page.get_by_text("1 device may still join")).to_be_visible()
    expect(page.get_by_alt_text("QR code of the link below")).to_be_visible()
    examine(page)
    link = page.get_by_role("link", name=re.compile("#invite=")).inner_text()
    invited = page.context.new_page()
    invited.goto(link)
    expect(invited.get_by_label("Invite code")).to_have_value(code)
    # A computer has no motion sensor: the code is read there, and typed into a phone.
    expect(invited.locator("#no-sensor-invite")).to_have_text(code)
    expect(invited.locator("#no-sensor-invite")).to_be_visible()
    invited.close()
    visitor.goto(link)
    expect(visitor.get_by_label("Invite code")).to_have_value(code)
    expect(visitor.get_by_label("Invite code")).to_be_visible()
    with portal.connected() as wire:
        device, token = enrolled(wire, "steps", code).values()
        with portal.store() as store:
            task = store.task("steps").task
        collection = task.terms.collection
        assert (collection.evaluators, collection.counters) == (0, 0), "or it may not train"
        sent = wire.call("POST", "/v1/tasks/steps/checkins", direction_checkin(task, device), token)
        assert sent.status in (200, 201), sent.body
        # Nobody loads the page again: its numbers follow.
        expect(page.locator('[data-live="version"]')).to_have_text("1")
        expect(page.locator('[data-live="state"]')).to_have_text("Running")
        page.goto("/owner/tasks/steps")
        devices = page.locator('section[aria-labelledby="devices"] tbody')
        expect(devices).to_be_hidden()
        page.locator("summary", has_text=re.compile("^1 device$")).click()
        expect(devices.locator("> tr > td:not(.name)").first).to_have_text("active")
        devices.locator("summary").click()
        page.get_by_role("button", name="Revoke this device").click()
        expect(page.locator(".notice")).to_contain_text("The device is excluded.")
        page.locator("summary", has_text=re.compile("^1 device$")).click()
        expect(devices.locator("> tr > td:not(.name)").first).to_have_text("revoked")
        rejected = wire.call(
            "POST", "/v1/tasks/steps/checkins", direction_checkin(task, device), token
        )
        assert rejected.status == 403
        assert problem_kind(rejected) == "revoked"


def export(page: Page) -> None:
    """Fetch the link of an export: a browser under load may cancel a download by itself."""
    address = page.get_by_role("link", name="Export json").get_attribute("href")
    answer = page.request.get(address or "")
    assert answer.ok, answer.text()
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.json()["task"] == "steps"
