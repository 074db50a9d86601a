"""Run the demo and take its pages: `PYTHONPATH=. python docs/page_pictures.py`.

It writes docs/portal.png, the page of its task on a computer, and docs/phone.png, the page of a
phone that takes part while its owner walks.
"""

import io
import math
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

from crowdml.cli.console import Console
from crowdml.demo import Demo, free_port, run_demo
from tests.browser.chromium import ARGUMENTS, LOOKS, find_chromium
from tests.browser.participants import MOTION_SENSORS

FOLDER = Path(__file__).parent
SCALE = 1.2
STEPS_A_SECOND, G, SWING = 1.9, 9.8, 4.0
"""How a phone in the hand of a walker moves: in m/s², up and down with every step."""

BEGUN, WALKED = 45.0, 9.0
"""Seconds until the model has learnt something, and until the phone has collected samples."""


def walk(session: CDPSession, page: Page) -> None:
    """Send the motion of a walker to the page."""
    began = time.monotonic()
    while (at := time.monotonic() - began) < WALKED:
        turn = 2 * math.pi * STEPS_A_SECOND * at
        xyz = {"x": 0.4, "y": 1.0, "z": G + SWING * (math.sin(turn) + 0.4 * math.sin(2 * turn))}
        reading = {"type": "accelerometer", "reading": {"xyz": xyz}}
        session.send("Emulation.setSensorOverrideReadings", reading)
        page.wait_for_timeout(20)


def hold(page: Page) -> CDPSession:
    """Give the page the sensors of a phone that lies still."""
    session = page.context.new_cdp_session(page)
    metadata = {"available": True, "minimumFrequency": 1, "maximumFrequency": 100}
    for kind in MOTION_SENSORS:
        override = {"enabled": True, "type": kind, "metadata": metadata}
        session.send("Emulation.setSensorOverrideEnabled", override)
        reading = {"type": kind, "reading": {"xyz": {"x": 0.4, "y": 1.0, "z": G}}}
        session.send("Emulation.setSensorOverrideReadings", reading)
    return session


def take_phone(browser: Browser, address: str) -> None:
    page = opened(browser, "phone-light", 390)
    session = hold(page)
    page.goto(address.replace("/tasks/", "/join/"))
    page.get_by_role("button", name="Agree and take part").click()
    page.get_by_role("button", name="Walking").click()
    walk(session, page)
    take(page, "phone.png")


def take_portal(browser: Browser, address: str) -> None:
    page = opened(browser, "desktop-light", 1100)
    page.goto(address)
    expect(page.locator('[data-live="state"]')).to_have_text("Running")
    take(page, "portal.png")


def take(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot()))
    few = picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=256)
    few.save(FOLDER / name, optimize=True)


def opened(browser: Browser, look: str, width: int) -> Page:
    settings: dict[str, Any] = LOOKS[look] | {"viewport": {"width": width, "height": 980}}
    context = browser.new_context(
        **settings, device_scale_factor=SCALE, ignore_https_errors=True, locale="en"
    )
    return context.new_page()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        demo = Demo(folder=Path(folder) / "crowdml-demo", seconds=70.0, port=free_port())
        crowd = threading.Thread(target=run_demo, args=(demo, Console(file=io.StringIO())))
        crowd.start()
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        time.sleep(BEGUN)
        address = f"https://127.0.0.1:{demo.port}/tasks/{demo.task}"
        take_portal(browser, address)
        take_phone(browser, address)
        browser.close()
        crowd.join()


if __name__ == "__main__":
    main()
