"""Find and start Chromium, and collect what goes wrong on its pages."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Request,
    Response,
    WebError,
    expect,
    sync_playwright,
)

from tests.support.servers import PATIENCE

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The tabs of one profile share a process: starting a process takes longer than most tests.
    "--renderer-process-limit=1",
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
"""Screens on which pages must look right."""


def find_chromium() -> str:
    """Return the browser named by CHROMIUM, or the first one on the path."""
    wanted = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [wanted] if wanted else NAMES)), None)
    if found is None:
        raise FileNotFoundError(
            f"tests in a browser need Chromium, found none (CHROMIUM is {wanted!r}). Install it "
            "with `apt-get install chromium fonts-dejavu-core`, or set CHROMIUM to its path."
        )
    return found


@contextmanager
def launched(home: Path | None = None) -> Iterator[Browser]:
    """Start a separate Chromium; expectations of pages wait as long as a busy machine needs.

    Args:
        home: The home folder of a user with certificate authorities of their own.
    """
    path = find_chromium()
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        own: dict[str, str | float | bool] = {**os.environ, **({"HOME": str(home)} if home else {})}
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, env=own)
        yield browser
        browser.close()


@dataclass
class Watch:
    """Collect what goes wrong in a browser during a test.

    Args:
        origins: The servers that pages may talk to.
        complaints: Errors in the console and in scripts, requests to others, faults of a server.
        expected: Patterns of complaints that must occur.
        allowed: Patterns of complaints that may occur.
    """

    origins: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Require a complaint that matches this regular expression."""
        self.expected.append(pattern)

    def allow(self, pattern: str) -> None:
        """Allow complaints that match: whether they occur depends on timing."""
        self.allowed.append(pattern)

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", self._script)
        context.on("request", self._address)
        context.on("response", self._status)

    def unfollow(self, context: BrowserContext) -> None:
        context.remove_listener("console", self._console)
        context.remove_listener("weberror", self._script)
        context.remove_listener("request", self._address)
        context.remove_listener("response", self._status)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _script(self, error: WebError) -> None:
        self.complaints.append(f"script: {error.error}")

    def _address(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob"):
            origin = f"{parts.scheme}://{parts.netloc}"
            if origin not in self.origins:
                self.complaints.append(f"request to another origin: {request.url}")

    def _status(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"status {response.status}: {response.url}")

    def verdict(self) -> list[str]:
        """Return unexpected complaints, and expected ones that did not occur."""
        surprises = [
            complaint
            for complaint in self.complaints
            if not any(re.search(pattern, complaint) for pattern in self.expected + self.allowed)
        ]
        missed = [
            f"expected, but did not happen: {pattern}"
            for pattern in self.expected
            if not any(re.search(pattern, complaint) for complaint in self.complaints)
        ]
        return surprises + missed


class Profile:
    """A browser profile that tests use one after the other; each test finds it empty.

    An open tab keeps the process alive, and the cache keeps the server's files: starting without
    them would take most of the time of most tests.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context, self._url = context, url
        self._tab = context.new_page()
        self._tools = context.new_cdp_session(self._tab)

    def clean(self) -> None:
        """Close the tabs of a test, and erase what its pages have stored."""
        for page in self.context.pages:
            if page != self._tab:
                page.close()
        self.context.unroute_all()
        self.context.set_offline(False)
        self.context.clear_cookies()
        everything = {"origin": self._url, "storageTypes": "all"}
        self._tools.send("Storage.clearDataForOrigin", everything)
