"""Test that `crowdml program` finds a server with another program."""

from collections.abc import Iterator

import pytest

from crowdml.portal.pages.program import served_files
from tests.cli.command import Here
from tests.support.servers import Portal


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    with Portal(tmp_path_factory.mktemp("portal"), "self-signed") as portal:
        yield portal


def test_the_command_compares_what_a_server_hands_out(
    portal: Portal, quick: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = served_files()
    assert "certificate is not trusted" in quick("program", "--url", portal.url).error()
    pinned = ("program", "--url", portal.url, "--fingerprint", portal.fingerprint)
    said = quick(*pinned).said()
    assert said == f"all {len(known)} files are those of this release\n"
    with portal.connected() as wire:
        assert quick("program").said() == wire.get("/program.sha256").body.decode()
    changed = known | {"web/privacy/chance.js": "0" * 64, "web/none.js": "0" * 64}
    monkeypatch.setattr("crowdml.portal.pages.served_files", lambda: changed)
    sentence = quick(*pinned).error()
    assert f"found 2 of {len(changed)} that differ" in sentence
    assert "that differ: web/privacy/chance.js, web/none.js." in sentence
