"""Share one Chromium and some portals between the tests of this folder; contexts are fresh."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.chromium import LOOKS, Profile, Watch, launched
from tests.browser.portals import LastingPortal, ServePortal, gallery, populate, portals
from tests.support.servers import PATIENCE, HttpClient, Portal, create


class Browse(Protocol):
    """Open a page of a server in a context of its own; `look` is a key of `LOOKS`."""

    def __call__(self, server: Portal, look: str = "desktop-light", **options: Any) -> Page: ...


# Package and not session: Playwright occupies this thread's event loop while it runs, and tests
# of other folders call asyncio.run.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture(scope="package")
def profiles(chromium: Browser) -> dict[tuple[str, str], Profile]:
    """Keep profiles for lasting portals, by address and look."""
    return {}


@pytest.fixture
def browse(
    chromium: Browser,
    profiles: dict[tuple[str, str], Profile],
    watch: Watch,
    serve_portal: ServePortal,
) -> Iterator[Browse]:
    """Open pages that fail the test if `watch` has an unexpected complaint.

    This fixture uses the portals, so that pages are closed before them.
    """
    contexts: list[BrowserContext] = []
    used: list[Profile] = []

    def make_context(server: Portal, look: str, **options: Any) -> BrowserContext:
        settings = LOOKS[look] | {"ignore_https_errors": bool(server.tls)} | options
        context = chromium.new_context(base_url=server.url, **settings)
        context.set_default_timeout(1000 * PATIENCE)
        return context

    def open_page(server: Portal, look: str = "desktop-light", **options: Any) -> Page:
        watch.origins.add(server.url)
        if isinstance(server, LastingPortal) and not options:
            key = server.url, look
            if key not in profiles:
                profiles[key] = Profile(make_context(server, look), server.url)
            profile = profiles[key]
            if profile not in used:
                used.append(profile)
                watch.follow(profile.context)
            return profile.context.new_page()
        contexts.append(make_context(server, look, **options))
        watch.follow(contexts[-1])
        return contexts[-1].new_page()

    yield open_page
    for profile in used:
        profile.clean()
        watch.unfollow(profile.context)
    for context in contexts:
        context.close()
    assert watch.verdict() == []


@pytest.fixture(scope="package")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    """Start a read-only portal, with a task in every situation that a page can show."""
    portal = LastingPortal(tmp_path_factory.mktemp("portal"))
    tasks = gallery()
    create(portal.database, *tasks)
    portal.start()
    try:
        populate(portal, tasks)
        yield portal
    finally:
        portal.kill()


@pytest.fixture(scope="package")
def phones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    """Start a portal without tasks for phones; each test file adds its own tasks."""
    portal = LastingPortal(tmp_path_factory.mktemp("phones"))
    create(portal.database)
    portal.start()
    try:
        yield portal
    finally:
        portal.kill()


@pytest.fixture
def wire(portal: Portal) -> Iterator[HttpClient]:
    with portal.connected() as wire:
        yield wire


@pytest.fixture
def desktop(browse: Browse, portal: Portal) -> Page:
    return browse(portal, "desktop-light")


@pytest.fixture
def phone(browse: Browse, portal: Portal) -> Page:
    return browse(portal, "phone-dark")


@pytest.fixture
def serve_portal(tmp_path: Path) -> Iterator[ServePortal]:
    """Start portals that a test may change, stop and start."""
    with portals(tmp_path) as serve:
        yield serve
