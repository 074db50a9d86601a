"""crowdml backup and crowdml restore."""

from tests.cli.command import Here
from tests.servers import create, make_task


def test_there_and_back(quick: Here) -> None:
    create("sqlite:///crowdml.db", make_task())
    told = "1 task, 0 devices, 0 check-ins"
    assert quick("backup", "night").said() == f"wrote night: {told}\n"
    restored = quick("restore", "night", "--database", "sqlite:///other.db").said()
    assert restored == f"restored night: {told}\n"
    assert "found actions in sqlite:///crowdml.db" in quick("restore", "night").error()
    assert "must be a whole backup" in quick("restore", "missing").error()
