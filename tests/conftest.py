"""Group tests that share work into one process, and give every example enough time."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import argon2
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.support.servers import Start

# On a busy machine everything is slow, and the tests must still pass.
settings.register_profile(
    "steady", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

SHARED = {"found": "reproduction", "portal": "portal"}
"""Fixtures that take long to make, each made once for all tests that use it."""


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Make Argon2 fast in the tests' processes; a server in its own process keeps it slow."""
    cheap = partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argon2, "PasswordHasher", cheap)
        yield


@pytest.fixture
def start(tmp_path: Path) -> "Iterator[Start]":
    """Start servers that a test may kill and start again."""
    from tests.support.servers import server_starter

    with server_starter(tmp_path) as start:
        yield start


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests that share a server or a long simulation, for `--dist loadgroup`."""
    for item in items:
        if isinstance(item, pytest.Function) and not item.get_closest_marker("xdist_group"):
            group = _group(item)
            if group:
                item.add_marker(pytest.mark.xdist_group(group))


def _group(test: pytest.Function) -> str | None:
    for name in test.fixturenames:
        for fixture in test._fixtureinfo.name2fixturedefs.get(name, ()):
            if fixture.scope == "module":
                return test.nodeid.partition("::")[0]
            if fixture.scope in ("package", "session") and name in SHARED:
                return SHARED[name]
    return None
