"""Ways through the portal: with a mouse, with keys alone, and without any script."""

import io
import re

import numpy as np
import pytest
import segno
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Browse
from tests.browser.page_checks import show_all
from tests.support.servers import Portal


def test_from_the_list_to_taking_part(desktop: Page, portal: Portal) -> None:
    desktop.goto("/")
    expect(desktop.get_by_role("status")).to_have_text("11 of 11 tasks")
    desktop.get_by_label("Search").fill("walking accelerometer")
    desktop.get_by_role("button", name="Find").click()
    expect(desktop.get_by_role("status")).to_have_text("1 of 11 tasks")
    desktop.get_by_role("link", name="What is the owner of this phone doing?").click()
    expect(desktop).to_have_url(f"{portal.url}/tasks/walking")
    desktop.get_by_role("link", name="Take part").click()
    expect(desktop.get_by_role("heading", level=1)).to_have_text("Take part")
    expect(desktop.get_by_text("A phone’s browser cannot take part in this task")).to_be_visible()
    expect(desktop.locator("pre").first).to_contain_text(f"join {portal.url}/join/walking")
    desktop.goto("/tasks/pocket/join")
    link = f"{portal.url}/join/pocket"
    expect(desktop.get_by_role("link", name=link)).to_have_attribute(
        "href", "/" + link.split("/", 3)[3]
    )
    assert dots(desktop.get_by_alt_text("QR code")) == dots_of(link)


def dots(picture: Locator) -> list[list[bool]]:
    """Read the QR code as a camera does: whether the middle of each dot is black."""
    image = np.array(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    seen = segno.make(picture.page.get_by_role("link", name="/join/").inner_text(), error="m")
    n = seen.symbol_size(border=3)[0]
    middle = (np.arange(3, n - 3) + 0.5) * len(image) / n
    rows = image[np.ix_(middle.astype(int), middle.astype(int))] < 128
    dark: list[list[bool]] = rows.tolist()
    return dark


def dots_of(text: str) -> list[list[bool]]:
    return [[bool(dot) for dot in row] for row in segno.make(text, error="m").matrix]


def test_tasks_by_their_state(desktop: Page) -> None:
    desktop.goto("/")
    desktop.get_by_label("Show").select_option("Ended")
    desktop.get_by_role("button", name="Find").click()
    titles = desktop.get_by_role("heading", level=2)
    expect(titles).to_have_text(["A task that was stopped", "A task that is done"])
    expect(desktop.get_by_label("Show")).to_have_value("ended")
    # A phone zooms into smaller text when it is touched.
    expect(desktop.get_by_label("Search")).to_have_css("font-size", "16px")


def test_on_paper(desktop: Page, browse: Browse, portal: Portal) -> None:
    desktop.goto("/tasks/walking")
    desktop.emulate_media(media="print")
    for useless in (desktop.get_by_role("link", name="Take part"), desktop.locator("nav, #try")):
        expect(useless.first).to_be_hidden()
    phone = browse(portal, "phone-light")
    phone.goto("/tasks/pocket")
    expect(phone.get_by_role("link", name="Take part")).to_be_visible()
    phone.emulate_media(media="print")
    expect(phone.get_by_role("link", name="Take part")).to_be_hidden()
    # What is folded on a screen cannot be unfolded on paper.
    for folded in (".answers #leaves-said", ".table dd", "article pre"):
        expect(desktop.locator(folded).first).to_be_visible()
    expect(desktop.get_by_text("Technical details")).to_be_visible()


def test_whoever_ended_it_nobody_can_join(desktop: Page) -> None:
    for task in ("finished", "stopped"):
        desktop.goto(f"/tasks/{task}")
        expect(desktop.get_by_text("The task has ended.")).to_be_visible()
        expect(desktop.get_by_role("link", name="Take part")).to_have_count(0)


CLAIMS = {
    "en-GB": r"nois|\bhid(e|es|ing|den)\b|\bsure\b|\b(strong|moderate|weak)\b|privacy:",
    "de-DE": r"rausch|verb[ei]rg|versteck|\bsicher\b|\b(stark|schwach)\b|privatsphäre:",
}


@pytest.mark.parametrize("language", CLAIMS)
def test_a_task_that_is_not_private_claims_nothing(
    browse: Browse, portal: Portal, language: str
) -> None:
    """Neither its pages nor the descriptions of its pictures promise any privacy."""
    page = browse(portal, locale=language)
    seen = {"/": '[data-task="open-data"]'}
    for path in ("/tasks/open-data", "/tasks/open-data/join", "/join/open-data"):
        seen[path] = "main"
    for path, where in seen.items():
        page.goto(path)
        part = page.locator(where)
        part.evaluate("part => part.querySelectorAll('details').forEach(d => d.open = true)")
        part.evaluate("part => part.querySelectorAll('pre').forEach(each => each.remove())")
        alts = part.locator("img").evaluate_all("all => all.map(image => image.alt)")
        text = "\n".join([part.inner_text(), *alts])
        assert "PRIVAT" in text.upper()
        assert not re.findall(f".*(?:{CLAIMS[language]}).*", text, re.I), path
    for chart in ("error", "labels"):
        drawn = page.request.get(f"/tasks/open-data/charts/{chart}.svg").text()
        assert not re.search(CLAIMS[language], drawn, re.I)
    assert page.request.get("/tasks/open-data/hiding.svg?epsilon=1&batch=3").status == 404


def test_a_promise_for_the_whole_person(desktop: Page) -> None:
    promise = "ε = 4, for everything that you send to this task."
    desktop.goto("/tasks/person")
    full = desktop.locator("#lose-said").get_by_text(promise)
    expect(full).to_be_hidden()
    desktop.get_by_text("In full").last.click()
    expect(full).to_be_visible()
    expect(desktop.locator(".intro > .row .level")).to_have_text(
        re.compile(r"Moderate privacy\s+ε = 4")
    )
    expect(desktop.locator(".tiles dt")).to_have_text(
        ["Error of the model as it is now", "Check-ins", "Devices that joined"]
    )
    # Which devices count answers is random, and so is what is known about the answers.
    expect(
        desktop.get_by_text(re.compile("^For comparison, (guessing at random|always answering “)"))
    ).to_be_visible()
    text = desktop.locator("main").inner_text()
    assert "samples used" not in text.lower()
    assert "for people who did not train it" in text
    assert "noise" not in text.lower()
    desktop.goto("/tasks/person/join")
    assert "noise" not in desktop.locator("main").inner_text().lower()
    expect(desktop.get_by_text("for a check-in. One check-in, and no more.")).to_be_visible()
    desktop.goto("/")
    card = desktop.locator('[data-task="person"]')
    expect(card.locator(".level")).to_contain_text("ε = 4")
    expect(card.get_by_alt_text("Curve of the error")).to_be_visible()
    nothing = desktop.locator('[data-task="new"]')
    expect(nothing).to_contain_text("not known")
    expect(nothing.locator("picture")).to_have_count(0)


def test_an_example_says_how_likely_it_was(desktop: Page) -> None:
    desktop.goto("/tasks/person")
    desktop.get_by_text("An example, from made-up samples").click()
    for role, key, most in (
        ("trains", "direction", "1.2\u00a0%"),
        ("evaluates", "wrong", "98.2\u00a0%"),
        ("counts", "answer", "96.5\u00a0%"),
    ):
        card = desktop.locator(".card", has=desktop.get_by_role("heading", name=role))
        expect(card).to_contain_text("How likely was that? With these samples:")
        expect(card).to_contain_text(f" to {most}.")
        card.get_by_text("The whole message").click()
        number = card.locator("strong.sent").inner_text().replace(",", "")
        expect(card.locator("pre")).to_contain_text(f'"{key}": {number}')


def test_an_invite_is_asked_for(desktop: Page) -> None:
    desktop.goto("/tasks/club/join")
    expect(desktop.get_by_text("This task is by invitation")).to_be_visible()
    expect(desktop.locator("pre").first).to_contain_text("--invite CODE")


def test_with_keys_alone(desktop: Page, portal: Portal) -> None:
    desktop.goto("/")
    desktop.keyboard.press("Tab")
    expect(desktop.get_by_text("Skip to the content")).to_be_focused()
    expect(desktop.get_by_text("Skip to the content")).to_be_in_viewport()
    desktop.keyboard.press("Enter")
    expect(desktop.locator("main")).to_be_focused()
    tab_to(desktop, desktop.get_by_role("link", name="How does its owner carry the phone?"))
    desktop.keyboard.press("Enter")
    expect(desktop).to_have_url(f"{portal.url}/tasks/pocket")
    for label, key, value in (("ε of a sample", "End", "20"), ("Samples in", "Home", "1")):
        slider = desktop.get_by_role("slider", name=label)
        tab_to(desktop, slider)
        desktop.keyboard.press(key)
        expect(desktop.locator(".slider", has=slider).locator("output")).to_have_text(value)
        expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^{value}(: .* privacy)?$"))
    tab_to(desktop, desktop.get_by_text("Read the terms"))
    desktop.keyboard.press("Enter")
    expect(desktop.get_by_text('"task": "pocket"')).to_be_visible()


def tab_to(page: Page, wanted: Locator, most: int = 40) -> None:
    """Press Tab until something has the focus, which must then be visible."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element === document.activeElement"):
            style = wanted.evaluate("(element) => getComputedStyle(element).outlineStyle")
            assert style != "none", "nobody sees where the focus is"
            return
    raise AssertionError(f"{most} times Tab do not reach {wanted}")


def test_without_scripts(browse: Browse, portal: Portal) -> None:
    page = browse(portal, java_script_enabled=False)
    page.goto("/tasks/walking")
    names, values = (
        page.locator(f".tiles {tag}").all_inner_texts() for tag in ("dt", "dd:not(.quiet)")
    )
    tiles = dict(zip(names, values, strict=True))
    assert tiles["Devices that joined"] == "10"
    assert tiles["Check-ins"] == "60"
    assert tiles["Samples used"] == "1,200"
    assert re.fullmatch(r"between \d+ and \d+\s% wrong", tiles["Error of the model as it is now"])
    assert page.locator("progress").get_attribute("value") == "60"
    charts = page.locator(".charts img")
    assert charts.count() == 5
    for chart in page.locator(".charts figure:not(.nothing) img").all():
        chart.scroll_into_view_if_needed()
        path = chart.get_attribute("src")
        assert path is not None
        assert page.request.get(path).headers["content-type"] == "image/svg+xml"
    expect(page.get_by_text("What leaves the device?")).to_be_visible()
    page.get_by_text("Read the terms").click()
    expect(page.get_by_text('"task": "walking"')).to_be_visible()
    page.goto("/?q=balcony")
    expect(page.get_by_role("heading", level=2)).to_have_text(["How warm is it on the balcony?"])


def test_pictures_are_dark_in_the_dark(browse: Browse, portal: Portal) -> None:
    for look in ("desktop-dark", "phone-light"):
        page = browse(portal, look)
        page.goto("/tasks/walking")
        show_all(page)
        sources = page.locator("picture img").evaluate_all("all => all.map(i => i.currentSrc)")
        assert [source.endswith("theme=dark") for source in sources] == [look.endswith("dark")] * 6
