"""Test that `crowdml device` and device.py have the same exit codes and sentences."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from crowdml.demo import free_port
from crowdml.device import DeviceStore
from crowdml.protocol import terms_hash
from tests.cli.command import Here, Ran
from tests.one_file_device.program import OneFileInProcess, OneFileProgram
from tests.support.full_disk import full_disk
from tests.support.servers import FaultyServer, HttpClient, create, eventually, make_direction_task

ROW = "0.1,0.2,-0.3,0.1,walk\n"
HEADER = "a,b,c,d,y\n"
SOURCES = {
    "junk": ("x,y\nno,sample\n", 1, ["at least one valid sample, found none", "The task wants"]),
    "nothing": ("", 1, ["at least one valid sample, found none"]),
    "header": (HEADER, 1, ["at least one valid sample, found none"]),
    "no y": ('{"x": [1, 2, 3, 4]}\n', 1, ["y", "is missing"]),
    "too much junk": (1200 * "no,sample\n", 1, ["stopped at line 1,001", "the last 1,000 lines"]),
    "few": (HEADER + ROW, 0, []),
    "enough": (HEADER + 3 * ROW, 3, ["all check-ins that you agreed to are made"]),
}
Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("server"))
    create(
        process.database,
        make_direction_task("once", privacy__epsilon=4.0, collection__checkins=1),
        make_direction_task("anew", privacy__epsilon=4.0, collection__checkins=3),
        make_direction_task("thrice", privacy__epsilon=4.0, collection__checkins=3),
    )
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture(params=["crowdml", "device.py"])
def device(request: pytest.FixtureRequest, quick: Here, tmp_path: Path) -> Run:
    """Run a command of one of the two, on one file in the test's folder."""
    program = OneFileInProcess(tmp_path)

    def one_file(*arguments: str) -> Ran:
        ran = program.run(*arguments)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    return one_file if request.param == "device.py" else lambda *a: quick("device", *a)


def test_every_source_ends_alike(device: Run, server: FaultyServer, tmp_path: Path) -> None:
    assert device("join", f"{server.url}/join/once", "--yes").code == 0
    for name, (text, code, sentences) in SOURCES.items():
        (tmp_path / "samples").write_text(text)
        ran = device("run", "--source", "samples")
        assert ran.code == code, (name, ran)
        assert all(sentence in ran.out + ran.err for sentence in sentences), (name, ran)
        assert ran.err.count("skipped") <= 5, "no word for a header, and few for junk"
        (tmp_path / "samples").unlink()
    assert device("run", "--source", "samples").code in (1, 3)


def test_a_source_without_lines_ends(device: Run, server: FaultyServer) -> None:
    assert device("join", f"{server.url}/join/once", "--yes").code == 0
    ran = device("run", "--source", "/dev/zero")
    assert (ran.code, "must have at most 16,777,216 characters" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("scheme", "sentence"),
    [("http", "Connection refused"), ("https", "does not speak TLS there")],
)
def test_servers_that_do_not_answer(
    device: Run, server: FaultyServer, scheme: str, sentence: str
) -> None:
    port = free_port() if scheme == "http" else server.port
    ran = device("join", f"{scheme}://127.0.0.1:{port}/join/once", "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert sentence in ran.err
    assert not {"Errno", "_ssl.c"} & set(ran.err.replace(":", " ").split())


def _has(wire: HttpClient, terms_sha256: str) -> bool:
    return bool(wire.get("/v1/tasks/anew").json().get("terms_sha256") == terms_sha256)


def _token(folder: Path) -> str:
    if OneFileProgram(folder).file.exists():
        return str(OneFileProgram(folder).state["token"])
    with closing(DeviceStore(folder / "data" / "crowdml" / "thrice.device")) as store:
        assert store.identity is not None
        return store.identity.token


def test_joining_again_after_a_revoke(
    device: Run, server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that unused samples stay, and that the numbers of check-ins begin again."""
    owner = Here(tmp_path, {"CROWDML_DATABASE": server.database}, capsys)
    link = f"{server.url}/join/thrice"
    name = device("join", link, "--yes").said().split()[-1]
    (tmp_path / "samples.csv").write_text(4 * ROW)
    assert device("run", "--source", "samples.csv").code == 0
    assert owner("task", "revoke", name).said() == f"revoked {name}\n"
    token = _token(tmp_path)
    with server.connected() as wire:
        assert eventually(lambda: wire.get("/v1/tasks/thrice/model", token).status == 403)
    again = device("join", link, "--yes")
    assert "excluded by the task's owner" in again.out + again.err
    assert "joined thrice again as device" in again.out
    assert "1 sample" in again.out
    with (tmp_path / "samples.csv").open("a") as file:
        file.write(2 * ROW)
    ran = device("run", "--source", "samples.csv")
    assert (ran.code, "repeated" in ran.err, "wrong" in ran.err) == (0, False, False)


def test_joining_again_after_a_task_was_created_anew(
    device: Run, server: FaultyServer, tmp_path: Path
) -> None:
    """Check that samples stay where they fit the new terms, and that nothing else changes."""
    link, settings = f"{server.url}/join/anew", {"privacy__epsilon": 4.0, "collection__checkins": 3}
    device("join", link, "--yes").said()
    (tmp_path / "samples.csv").write_text(ROW)
    assert device("run", "--source", "samples.csv").code == 0
    for changes, code in (({"features__count": 3}, 1), ({"__purpose": "another"}, 0)):
        task = make_direction_task("anew", **settings, **changes)
        with server.store() as store:
            store.delete_task("anew")
            store.create_task(task)
        with server.connected() as wire:
            assert eventually(partial(_has, wire, terms_hash(task.terms.text)))
        again = device("join", link, "--yes")
        assert again.code == code, again
        assert "the token is unknown to this task" in again.out + again.err
        assert ("do not fit the new terms" in again.err) == bool(code)
    assert "1 sample" in again.out


def test_a_full_disk(device: Run, server: FaultyServer, tmp_path: Path) -> None:
    assert device("join", f"{server.url}/join/once", "--yes").code == 0
    (tmp_path / "samples.csv").write_text(2 * ROW)
    with full_disk():
        ran = device("run", "--source", "samples.csv")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1, ran
    assert "Make room on the disk" in ran.err
