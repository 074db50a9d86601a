"""The live page of a task while the demo's real crowd learns."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import LOOKS, Watch
from tests.browser.page_checks import hurry
from tests.support.servers import PATIENCE


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """Run the demo, and return the address of its portal."""
    # It is ended when enough was seen: however slow the machine is, the crowd is not done by then.
    command = ["crowdml", "demo", "--devices", "150", "--seconds", "90", "--folder", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        try:
            said = ""
            while not (found := re.search(r"watch it learn: (\S+/tasks/\S+)", said)):
                line = process.stdout.readline()
                assert line, said
                said += line
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)  # it ends its server and its crowd
            print(said + process.stdout.read())  # pytest shows it when the test fails


def moves(page: Page, version: int) -> int:
    """Wait for a later version in the numbers and in the chart of the devices."""
    found: dict[str, int] = page.evaluate(
        """async ([version, patience]) => {
            const picture = document.querySelector('[data-picture*="/charts/devices.svg"]');
            const shown = () => {
                const said = document.querySelector('[data-live="version"]').textContent;
                const drawn = /v=(\\d+)/.exec(picture.querySelector("img").src);
                return { number: Number(said.replaceAll(",", "")), chart: Number(drawn[1]) };
            };
            const both = () => Math.min(...Object.values(shown()));
            const end = Date.now() + patience;
            while (both() <= version && Date.now() < end) {
                // Other charts appear above and push it down; only what is seen is redrawn.
                picture.closest("figure").scrollIntoView({ block: "nearest" });
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
            const { top, bottom } = picture.closest("figure").getBoundingClientRect();
            return { ...shown(), tried: picture.dataset.version, top, bottom, high: innerHeight };
        }""",
        [version, 1000 * PATIENCE],
    )
    assert min(found["number"], found["chart"]) > version, found
    return min(found["number"], found["chart"])


def test_numbers_move_and_charts_are_redrawn(
    chromium: Browser, watch: Watch, tmp_path: Path
) -> None:
    with demo(tmp_path / "demo") as address:
        context = chromium.new_context(**LOOKS["phone-dark"], ignore_https_errors=True)
        watch.origins.add(address.partition("/tasks/")[0])
        watch.follow(context)
        page = context.new_page()
        hurry(page)
        page.goto(address)
        page.evaluate("window.sameDocument = true")
        try:
            expect(page.locator('[data-live="state"]').first).to_have_text("Running")
        except AssertionError:
            print(watch.complaints, page.locator('[data-live="link"]').first.inner_text())
            raise
        # The error is too uncertain to be drawn for long; the devices are there from the first on.
        page.get_by_text("Devices, pace and staleness").click()
        # The figure, as its picture is hidden while there is nothing to draw.
        devices = page.locator("figure", has=page.locator('[data-picture*="/charts/devices.svg"]'))
        devices.scroll_into_view_if_needed()
        version = 0
        for _ in range(3):
            version = moves(page, version)
        joined = page.locator('[data-live="devices"]').first.inner_text()
        assert int(joined) >= version / 2
        assert page.evaluate("window.sameDocument"), "the page was loaded again"
        context.close()
    assert watch.verdict() == []
