"""Test that a participant's losses add up over all tasks, and that used samples are erased."""

import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.device import DeviceStore
from tests.cli.command import Command, Here
from tests.support.servers import FaultyServer, create, make_direction_task, make_task

ROWS = [f"0.1,0.2,-0.3,{k / 1000},walk\n" for k in range(1, 61)]
RAW = 0.123456789
"""A value of a sample, which no file may contain."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("server"))
    people = {"privacy__epsilon": 4.0, "collection__checkins": 2}
    create(
        process.database,
        make_task("steps"),
        make_task("more"),
        make_direction_task("all", **people),
    )
    yield process.start()
    assert process.stop() == 0, process.output


def join(command: Here | Command, server: FaultyServer, task: str, *options: str) -> str:
    joined = command("device", "join", f"{server.url}/join/{task}", "--yes", *options)
    joined.said()
    return joined.err


def run(here: Here, source: str, *options: str) -> str:
    return here("device", "run", "--source", source, *options).said()


def test_two_runs_at_once_tell_every_line_once(crowdml: Command, server: FaultyServer) -> None:
    """Check it with a long file, so that the runs overlap, and with a copy of the file."""
    join(crowdml, server, "steps", "--per-device", "1e9")
    lines = [f"0.1,0.2,-0.3,{k / 1e6},walk\n" for k in range(1, 901)]
    (crowdml.folder / "samples.csv").write_text("".join(lines))
    shutil.copy(crowdml.folder / "samples.csv", crowdml.folder / "copy.csv")
    runs = [
        crowdml.start("device", "run", "--source", name) for name in ("samples.csv", "copy.csv")
    ]
    said = [process.communicate(timeout=120) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], said
    kept = [int(out.partition(" samples kept")[0].split("\n")[-1]) for out, _ in said]
    assert sum(kept) == 900
    rows = crowdml("device", "ledger", "--json").json()["checkins"]
    with closing(DeviceStore(crowdml.data / "steps.device")) as store:
        assert sum(row["samples"] for row in rows) + store.n_samples == 900


def test_a_file_is_known_under_every_name(quick: Here, server: FaultyServer) -> None:
    join(quick, server, "steps")
    file = quick.folder / "samples.csv"
    file.write_text("".join(ROWS[:12]))
    assert run(quick, "samples.csv").startswith("12 samples kept")
    file.rename(quick.folder / "renamed.csv")
    assert "went on after line 12" in run(quick, "renamed.csv")
    (quick.folder / "shorter.csv").write_text("".join(ROWS[:5]))
    assert "0 samples kept" in run(quick, "shorter.csv")
    (quick.folder / "longer.csv").write_text("".join(ROWS[:15]))
    assert "3 samples kept" in run(quick, "longer.csv")
    (quick.folder / "other.csv").write_text("".join(ROWS[20:24]))
    assert run(quick, "other.csv").startswith("4 samples kept")


def test_leaving_and_joining_again(quick: Here, server: FaultyServer) -> None:
    (quick.folder / "samples.csv").write_text("".join(ROWS[:6]))
    assert "What you sent" not in join(quick, server, "steps")
    assert run(quick, "samples.csv").startswith("6 samples kept, 2 check-ins")
    quick("device", "leave").said()
    alone = quick("device", "ledger", "--json").json()
    assert alone["all_tasks"]["epsilon"]["spent"] == 2.0
    assert "steps at http" in quick("device", "ledger").said()
    assert "at most ε = 6 in total. What you send now adds to it." in join(quick, server, "steps")
    assert "went on after line 6" in run(quick, "samples.csv")
    assert "6 samples kept, 2 check-ins" in run(quick, "samples.csv", "--again")
    found = quick("device", "ledger", "--json").json()
    assert found["epsilon"]["spent"] == 2.0
    spent = found["all_tasks"]
    assert spent["epsilon"] == {
        "per_sample": 1.0, "per_sample_at_worst": 3.0, "per_person": 12.0, "spent": 4.0
    }  # fmt: skip
    assert spent["checkins_not_followed"] == 2
    assert (
        "If the sample is in each of the 2 check-ins with such samples: ε = 3"
        in quick("device", "ledger").said()
    )


def test_tasks_on_one_file_add_up(quick: Here, server: FaultyServer) -> None:
    (quick.folder / "samples.csv").write_text("".join(ROWS[:6]))
    for task in ("steps", "more", "all"):
        join(quick, server, task)
        file = ("--file", str(quick.data / f"{task}.device"))
        ran = quick("device", "run", "--source", "samples.csv", *file)
        assert ran.out.startswith("6 samples kept, 2 check-ins")
    spent = quick("device", "ledger", *file, "--json").json()["all_tasks"]
    assert [(row["task"], row["checkins"], row["epsilon"]) for row in spent["tasks"]] == [
        ("steps", 2, 2.0), ("more", 2, 2.0), ("all", 2, 4.0)
    ]  # fmt: skip
    assert spent["epsilon"] == {
        "per_sample": 4.0, "per_sample_at_worst": 4.0, "per_person": 16.0, "spent": 8.0
    }  # fmt: skip
    assert spent["checkins_not_followed"] == 0


def holds(folder: Path, *values: bytes) -> list[str]:
    """List the files that hold any of these bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(value in path.read_bytes() for value in values)]


@pytest.fixture
def raw(quick: Here, server: FaultyServer) -> bytes:
    """Make a device with used samples, a check-in and a sample that waits."""
    rows = [f"{RAW},0.2,-0.3,{k / 1000},walk\n" for k in range(4)]
    (quick.folder / "samples.csv").write_text("".join(rows))
    join(quick, server, "steps")
    return struct.pack("<d", RAW)


def test_used_samples_are_nowhere(quick: Here, raw: bytes) -> None:
    (quick.folder / "three.csv").write_text("".join(ROWS[:2]) + f"{RAW},0,0,0,walk\n")
    assert "1 check-in answered, 0 samples" in run(quick, "three.csv")
    assert holds(quick.data, raw) == []


@pytest.mark.parametrize("keep", [False, True])
def test_nothing_is_left_after_leaving(quick: Here, raw: bytes, keep: bool) -> None:
    assert "1 check-in answered, 1 sample" in run(quick, "samples.csv")
    assert holds(quick.data, raw), "a sample that waits is there, so that it can be found"
    quick("device", "leave", *(["--keep"] if keep else [])).said()
    assert holds(quick.data, raw, b"samples.csv", str(RAW).encode()) == []
    names = {path.name for path in quick.data.iterdir()}
    assert names == {"participant.account"} | ({"steps.device"} if keep else set())
    assert len(quick("device", "ledger", "--json").json()["all_tasks"]["tasks"]) == 1


def test_no_token_is_kept(quick: Here, raw: bytes) -> None:
    with closing(DeviceStore(quick.data / "steps.device")) as store:
        assert store.identity
        token = store.identity.token.encode()
    assert holds(quick.data, token)
    quick("device", "leave", "--keep").said()
    assert holds(quick.data, token) == []


def test_erased_files_are_overwritten_first(
    quick: Here, raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that freed blocks hold no sample, where the file system writes in place."""
    run(quick, "samples.csv")
    removed: list[bytes] = []
    unlink = Path.unlink

    def look(path: Path, missing_ok: bool = False) -> None:
        removed.append(path.read_bytes() if path.exists() else b"")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", look)
    quick("device", "leave").said()
    assert any(removed)
    assert not any(raw in content or b"samples.csv" in content for content in removed)


def test_the_account_tells_no_sample(quick: Here, server: FaultyServer) -> None:
    """Check that not even a guessed sample can be found in it: its hashes have a key."""
    (quick.folder / "samples.csv").write_text("".join(ROWS[:3]))
    taken = []
    for name in ("ana", "ben"):
        file = ("--file", str(quick.folder / name / "device"))
        join(quick, server, "steps", *file)
        run(quick, "samples.csv", *file)
        quick("device", "leave", *file).said()
        account = quick.folder / name / "participant.account"
        assert b"samples" not in account.read_bytes()
        with closing(sqlite3.connect(account)) as database:
            taken.append({row[0] for row in database.execute("SELECT mark FROM taken")})
    assert [len(each) for each in taken] == [3, 3]
    assert not taken[0] & taken[1]
