"""Which tests run in the same process, where several share the work; and how long examples take."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import argon2
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.servers import Start

# A busy machine is slow, and that is not a fault of what is tested.
settings.register_profile(
    "steady", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

SHARED = {"found": "reproduction", "portal": "portal"}
"""What takes long to make once for all tests that look at it."""


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Argon2 takes long on purpose. A server of its own process still does, for unknown names."""
    cheap = partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argon2, "PasswordHasher", cheap)
        yield


@pytest.fixture
def start(tmp_path: Path) -> "Iterator[Start]":
    """Servers that a test may kill and start again."""
    from tests.servers import starter

    with starter(tmp_path) as start:
        yield start


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, for `--dist loadgroup`, the tests that share a server or a long simulation."""
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
