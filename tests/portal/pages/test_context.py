"""An app is complete when it is made, and two of them in one process share nothing."""

import asyncio
import gc
import importlib
import pkgutil
import weakref
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

import crowdml.portal
from crowdml.errors import Rejected
from crowdml.portal import create_portal_app
from crowdml.portal.pages.context import Portal
from crowdml.portal.pages.password_checks import PasswordChecks
from crowdml.portal.pages.planner import Planner
from crowdml.portal.pictures.render_cache import RenderCache
from crowdml.server import Settings, Store
from crowdml.server.http.public_address import PublicAddress
from crowdml.server.service.service import Service
from crowdml.server.throttle import Throttle
from tests.portal.call_app import call
from tests.support.servers import make_task

FORM = urlencode({"name": "ana", "password": "wrong word"}).encode()
MODULES = [
    module.name for module in pkgutil.walk_packages(crowdml.portal.__path__, "crowdml.portal.")
]


def app_in(folder: Path, title: str, fingerprint: str | None = None) -> Starlette:
    folder.mkdir()
    settings = Settings(database=f"sqlite:///{folder / 'crowdml.db'}")
    with closing(Store(settings.database)) as store:
        store.create_task(make_task(__title=title))
        store.owners.add("ana", "correct horse battery")
    return create_portal_app(settings, PublicAddress(fingerprint=fingerprint))


def test_an_app_is_complete_when_it_is_made(tmp_path: Path) -> None:
    app = app_in(tmp_path / "one", "One", fingerprint="AB:CD")
    state = app.state
    assert isinstance(state.portal, Portal)
    assert isinstance(state.service, Service)
    assert state.settings is state.service.settings
    assert state.public_address.fingerprint == "AB:CD"
    assert callable(state.error_page)


def test_two_apps_in_one_process_share_nothing(tmp_path: Path) -> None:
    one = app_in(tmp_path / "one", "The first", fingerprint="AB:CD")
    two = app_in(tmp_path / "two", "The second")

    async def visit() -> None:
        async with one.router.lifespan_context(one), two.router.lifespan_context(two):
            with suppress(Rejected):
                for _ in range(100):
                    await one.state.service.run_in_writer(
                        lambda store: store.owners.count_attempt("ana")
                    )
            assert (await call(one, "POST", "/owner/sign-in", FORM))[0] == 429
            assert (await call(two, "POST", "/owner/sign-in", FORM))[0] == 403

            # Both tasks have the same number and version: a shared cache would mix them up.
            for app, title in ((one, b"The first"), (two, b"The second")):
                status, page = await call(app, "GET", "/tasks/activity")
                assert (status, title in page) == (200, True)
            example = [await _example(app) for app in (one, two)]
            assert example[0] != example[1], "noise is drawn for each"

            assert b"AB:CD" in (await call(one, "GET", "/tasks/activity/join"))[1]
            assert b"--fingerprint" not in (await call(two, "GET", "/tasks/activity/join"))[1]

    asyncio.run(visit())


async def _example(app: Starlette) -> bytes:
    _, page = await call(app, "GET", "/tasks/activity")
    _, again = await call(app, "GET", "/tasks/activity")
    start, end = b"An example, from made-up", b"<h2"
    found = [text.partition(start)[2].partition(end)[0] for text in (page, again)]
    assert found[0] == found[1] != b"", "an app remembers its own"
    return found[0]


def test_what_an_app_remembers_ends_with_it(tmp_path: Path) -> None:
    app = app_in(tmp_path / "one", "One")
    portal = weakref.ref(app.state.portal)
    del app
    gc.collect()
    assert portal() is None


@pytest.mark.parametrize("name", MODULES)
def test_modules_remember_nothing(name: str) -> None:
    module = importlib.import_module(name)
    kept = (PasswordChecks, RenderCache, Planner, Portal, Service, Throttle, asyncio.Semaphore)
    assert not [key for key, value in vars(module).items() if isinstance(value, kept)]
