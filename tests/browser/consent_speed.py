"""Measure the consent page on a slow network: `python -m tests.browser.consent_speed`.

For each language: requests and seconds until Agree can be tapped, words on the page, how far its
layout shifts, what the console says, and the taps from the list of tasks to the first sample.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, CDPSession, expect

from crowdml.portal.words.language import LANGUAGES
from crowdml.protocol import Task
from tests.browser.chromium import LOOKS, launched
from tests.browser.page_checks import ROOT
from tests.browser.participants import Participant
from tests.support.servers import PATIENCE, Portal, create

TASK = ROOT / "examples" / "activity.toml"
KILOBITS, LATENCY = 400, 150
"""A slow network: kbit/s in both directions, and milliseconds that every request waits."""

WATCH = """
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) globalThis.shift += value;
    }).observe({ type: "layout-shift", buffered: true });
    addEventListener("DOMContentLoaded", () => {
        const agree = document.querySelector("#agree");
        const look = () => {
            if (!agree.disabled) globalThis.usable ??= performance.now() / 1000;
        };
        new MutationObserver(look).observe(agree, { attributes: true });
        look();
    });
"""


@dataclass
class Consent:
    """The measurements of one visit to the consent page."""

    requests: int
    seconds: float
    words: int
    shift: float
    console: list[str]


def slow(session: CDPSession, latency: int) -> None:
    """Slow the tab's network down."""
    bytes_a_second = KILOBITS * 1000 / 8
    conditions: dict[str, Any] = {"offline": False, "latency": latency}
    conditions |= {"downloadThroughput": bytes_a_second, "uploadThroughput": bytes_a_second}
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", conditions)


def visit(browser: Browser, portal: Portal, task: str, language: str, latency: int) -> Consent:
    """Open the consent page with an empty cache, and wait until Agree can be tapped."""
    context = browser.new_context(base_url=portal.url, locale=language, **LOOKS["phone-light"])
    page = context.new_page()
    asked: list[str] = []
    console: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: console.append(message.text))
    slow(context.new_cdp_session(page), latency)
    page.add_init_script(WATCH)
    page.goto(f"/join/{task}", wait_until="commit")
    page.wait_for_function("() => globalThis.usable", timeout=1000 * PATIENCE)
    requests = len(asked)
    page.wait_for_load_state("networkidle")
    found = Consent(
        requests,
        page.evaluate("usable"),
        len(page.locator("main").inner_text().split()),
        page.evaluate("shift"),
        console,
    )
    context.close()
    return found


def taps(browser: Browser, portal: Portal, task: Task, language: str) -> int:
    """Count the taps from the list of tasks to the first sample, on a phone."""
    context = browser.new_context(base_url=portal.url, locale=language, **LOOKS["phone-light"])
    participant = Participant(context.new_page(), portal, task.name).open("/")
    page = participant.page
    label = task.terms.target.labels[0]
    way = [
        page.get_by_role("link", name=task.title).first,
        page.locator(f'a.button[href$="/join/{task.name}"]').filter(visible=True).first,
        page.locator("#agree"),
        page.get_by_role("button", name=label, exact=True).filter(visible=True),
    ]
    for target in way:
        expect(target).to_be_enabled()
        target.tap()
    participant.until(lambda: len(participant.stored()["buffer"]) > 0)
    context.close()
    return len(way)


def main(file: str = str(TASK)) -> None:
    task = Task.from_toml(Path(file).read_text())
    print("language  latency  requests  words  seconds to Agree  layout shift  taps  console")
    with TemporaryDirectory() as home, launched() as browser:
        portal = Portal(Path(home))
        create(portal.database, task)
        portal.start()
        try:
            for language in LANGUAGES:
                steps = taps(browser, portal, task, language)
                for latency in (0, LATENCY):
                    found = visit(browser, portal, task.name, language, latency)
                    print(
                        f"{language:8}  {latency:4} ms  {found.requests:8}  {found.words:5}"
                        f"  {found.seconds:16.1f}  {found.shift:12.3f}  {steps:4}  {found.console}",
                        flush=True,
                    )
        finally:
            portal.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
