"""A portal with a task and an owner, for the tests of a file."""

from collections.abc import Iterator

import pytest

from tests.portal.owner_browser import Portal
from tests.support.servers import create, make_task


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    create(portal.database, make_task("activity"))
    portal.add_owner()
    yield portal.start()
    assert portal.stop() == 0, portal.output
