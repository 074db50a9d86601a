"""Test `crowdml task new`: a task file that a pilot has filled in, or no file."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import crowdml.simulation
from crowdml.learnt import read_start
from crowdml.protocol import Task, set_fields
from tests.cli.command import Here

ROWS = [f"{16 + k % 9}.5,{30 + k * 7 % 40},{'cold' if k % 9 < 5 else 'warm'},p{k % 3}"
        for k in range(30)]  # fmt: skip
PILOT = "\n".join(["temperature [°C],humidity [%],vote,person", *ROWS])
WORDS = dict.fromkeys(("objective", "owner", "contact", "purpose", "sensors"), "our words")


@pytest.fixture
def pilot(quick: Here, tmp_path: Path) -> Path:
    file = tmp_path / "pilot.csv"
    file.write_text(PILOT)
    return file


def test_from_a_pilot_to_a_task(quick: Here, pilot: Path, tmp_path: Path) -> None:
    said = quick("task", "new", "room", "--pilot", "pilot.csv", "--out", "room.toml").said()
    first, people, error, public, wrote = said.splitlines()
    assert first == "30 rows; the labels in 'vote' are cold (18) and warm (12)."
    assert people == "'person' names 3 people."
    assert error.startswith("The pilot alone is between ")
    assert public.startswith("room.start.npz is public once the task is created.")
    assert wrote.startswith("wrote room.toml and room.start.npz.")
    text = (tmp_path / "room.toml").read_text()
    sentences = quick("task", "create", "room.toml").errors()
    assert len(sentences) == 6
    assert all("must be your own words" in sentence for sentence in sentences)
    fields = WORDS | {"model.pilot": "three of us"}
    (tmp_path / "room.toml").write_text(set_fields(text, fields))
    assert (
        "a pilot of 30 samples of 3 people (three of us)"
        in quick("task", "create", "room.toml").said()
    )
    kept = text, (tmp_path / "room.start.npz").read_bytes()
    for name in ("room.toml", "other.toml"):
        again = quick("task", "new", "room", "--pilot", "pilot.csv", "--out", name).error()
        assert "must be new, found an old one" in again
    assert kept[1] == (tmp_path / "room.start.npz").read_bytes()
    assert not (tmp_path / "other.toml").exists()


def test_a_plan_chooses_epsilon(
    quick: Here, pilot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advise(task: Task, expected: object, rows: object) -> SimpleNamespace:
        assert (task.terms.collection.batch, task.t_max) == (44, 300)
        return SimpleNamespace(recommended=SimpleNamespace(epsilon=2.0), comment=("2 is enough.",))

    monkeypatch.setattr(crowdml.simulation, "pilot_advice", advise)
    crowd = ("--devices", 300, "--samples", 44)
    said = quick("task", "new", "room", "--pilot", "pilot.csv", *crowd, "--out", "room.toml").said()
    assert "2 is enough." in said.splitlines()
    start = read_start((tmp_path / "room.start.npz").read_bytes(), "room.start.npz")
    text = (tmp_path / "room.toml").read_text()
    assert Task.from_toml(text, start=start).terms.privacy.epsilon == 2
    assert "# 2 is enough.\nepsilon = 2.0" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pilot", "none.csv", "--out", "room.toml"), "cannot read the pilot none.csv"),
        (("--pilot", "pilot.csv"), "--out room.toml"),
        (("--pilot", "pilot.csv", "--out", "no/room.toml"), "cannot write no/room.start.npz"),
        (("--pilot", "pilot.csv", "--out", "room.toml", "--label", "votes"), "Did you mean 'vote'"),
        (("--pilot", "pilot.csv", "--out", "room.toml", "--devices", 9), "given together"),
        (("--label", "vote"), "need --pilot FILE"),
        (("--pilot", "bad.csv", "--out", "room.toml"), "bad.csv, line 32, column 'humidity [%]'"),
    ],
)
def test_nothing_is_created(
    quick: Here, pilot: Path, tmp_path: Path, options: tuple[object, ...], words: str
) -> None:
    (tmp_path / "bad.csv").write_text(f"{PILOT}\n17.5,?,cold,p1\n")
    before = sorted(tmp_path.iterdir())
    assert words in quick("task", "new", "room", *options).error()
    assert sorted(tmp_path.iterdir()) == before


def test_half_of_it_is_not_left_behind(quick: Here, pilot: Path, tmp_path: Path) -> None:
    (tmp_path / "room.toml").symlink_to(tmp_path / "nowhere")
    quick("task", "new", "room", "--pilot", "pilot.csv", "--out", "room.toml").error()
    assert not (tmp_path / "room.start.npz").exists()


def test_an_empty_file_goes_to_a_file_too(quick: Here, tmp_path: Path) -> None:
    shown = quick("task", "new", "room").said()
    assert quick("task", "new", "room", "--out", "room.toml").said() == ""
    assert (tmp_path / "room.toml").read_text() == shown
