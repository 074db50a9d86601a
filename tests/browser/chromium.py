"""Chromium: where it is, how it is started, and what counts as something wrong on a page."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.servers import PATIENCE

__all__ = ["ARGUMENTS", "LOOKS", "Watch", "find_chromium", "launched"]

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
LOOKS: dict[str, dict[str, Any]] = {
    "desktop-light": DESKTOP | {"color_scheme": "light"},
    "desktop-dark": DESKTOP | {"color_scheme": "dark"},
    "phone-light": PHONE | {"color_scheme": "light"},
    "phone-dark": PHONE | {"color_scheme": "dark"},
}
"""Screens that pages must look right on."""


def find_chromium() -> str:
    """The browser named by CHROMIUM, or the first one on the path."""
    wanted = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [wanted] if wanted else NAMES)), None)
    if found is None:
        raise FileNotFoundError(
            f"tests in a browser need Chromium, found none (CHROMIUM is {wanted!r}). Install it "
            "with `apt-get install chromium fonts-dejavu-core`, or set CHROMIUM to its path."
        )
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium of one's own. What is expected of a page may take as long as on a busy machine."""
    path = find_chromium()
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Watch:
    """Whatever goes wrong in a browser while a test looks elsewhere.

    Args:
        origins: The servers that pages may talk to.
        complaints: Errors in the console and in scripts, requests to others, faults of a server.
        expected: What a test says will go wrong: each must happen.
        allowed: What may go wrong as well.
    """

    origins: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Complaints with this regular expression in them are what the test is about."""
        self.expected.append(pattern)

    def allow(self, pattern: str) -> None:
        """Complaints like this may come or not: it is a matter of time."""
        self.allowed.append(pattern)

    def follow(self, context: BrowserContext) -> None:
        context.on("console", lambda message: self._console(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(f"script: {error.error}"))
        context.on("request", lambda request: self._address(request.url))
        context.on("response", lambda response: self._status(response.status, response.url))

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(f"console {kind}: {text}")

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob"):
            origin = f"{parts.scheme}://{parts.netloc}"
            if origin not in self.origins:
                self.complaints.append(f"request to another origin: {url}")

    def _status(self, status: int, url: str) -> None:
        if status >= 500:
            self.complaints.append(f"status {status}: {url}")

    def verdict(self) -> list[str]:
        """What nobody expected, and what was expected in vain."""
        surprises = [
            complaint
            for complaint in self.complaints
            if not any(re.search(pattern, complaint) for pattern in self.expected + self.allowed)
        ]
        missed = [
            f"expected in vain: {pattern}"
            for pattern in self.expected
            if not any(re.search(pattern, complaint) for complaint in self.complaints)
        ]
        return surprises + missed
