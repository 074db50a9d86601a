"""Test `crowdml plan`: from a task file to advice, and back into the file."""

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import crowdml.simulation
from crowdml.protocol import Task
from tests.cli.command import Here
from tests.protocol.files import STEPS

CROWD = ("--devices", 60, "--samples", 10, "--trials", 1)


@pytest.fixture(scope="module")
def simulated() -> dict[bytes, Any]:
    return {}


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch, simulated: dict[bytes, Any]) -> None:
    """Simulate the same crowd once for all tests."""
    for name in ("advise", "pilot_advice"):
        advise = getattr(crowdml.simulation, name)

        def known(*asked: Any, advise: Any = advise, progress: Any = None, **settings: Any) -> Any:
            key = pickle.dumps((advise.__name__, asked, settings))
            if key not in simulated:
                progress = {"progress": progress} if progress else {}
                simulated[key] = advise(*asked, **settings, **progress)
            return simulated[key]

        monkeypatch.setattr(crowdml.simulation, name, known)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "steps.toml"
    path.write_text(STEPS)
    return path


def test_the_contract(quick: Here, file: Path) -> None:
    found = quick("plan", file, *CROWD, "--json").json()
    assert {"guess_error", "central_error", "options", "recommended"} <= set(found)
    assert {"mechanism", "batch", "checkins", "error", "std"} <= set(found["options"][0])
    assert found["recommended"] in found["options"]


def test_a_file_from_standard_input(quick: Here, file: Path) -> None:
    arguments = ("plan", "-", *CROWD, "--json")
    assert quick(*arguments, typed=STEPS).json() == quick("plan", file, *CROWD, "--json").json()
    rejected = quick(*arguments, "--write", typed=STEPS).error()
    assert "--write needs a task file to write to, found standard input" in rejected


def test_what_the_file_itself_gives(quick: Here, file: Path) -> None:
    said = quick("plan", file, *CROWD).said()
    assert "With the settings in the file: This crowd" in " ".join(said.split())


def test_words_for_people(quick: Here, file: Path) -> None:
    quick.changes["COLUMNS"] = "80"
    said = quick("plan", file, *CROWD, "--target-error", 0.3).said()
    assert "guessing" in said
    assert "This crowd" in said
    assert "devices" in said
    assert sum(line.strip().startswith("→ ") for line in said.splitlines()) == 2, (
        "a row, and what → is"
    )
    assert "ε person: the most that a person loses" in " ".join(said.split())
    assert "10% lie" in said
    assert "of the devices lie as hard as a server lets them" in " ".join(said.split())
    assert "…" not in said, "the table has room"
    assert max(len(line) for line in said.splitlines()) <= 80


def test_the_advice_goes_into_the_file(quick: Here, file: Path) -> None:
    found = quick("plan", file, *CROWD, "--json", "--write").json()["recommended"]
    text = file.read_text()
    assert "epsilon = 4.0   # what a person loses in total" in text
    task = Task.from_toml(text)
    assert task.terms.mechanism_name == found["mechanism"] == "direction"
    assert task.terms.collection.batch == found["batch"]
    assert task.terms.collection.checkins == found["checkins"]
    assert task.t_max == 60 * found["checkins"]


def test_the_advice_leaves_line_ends_as_they_are(quick: Here, file: Path) -> None:
    file.write_bytes(STEPS.replace("\n", "\r\n").encode())
    quick("plan", file, *CROWD, "--write").said()
    changed = file.read_bytes()
    assert changed.count(b"\n") == changed.count(b"\r\n") > STEPS.count("\n")


def test_a_file_of_the_papers_way_becomes_one_for_people(quick: Here, file: Path) -> None:
    text = STEPS.replace("[privacy]\n", '[privacy]\nmechanism = "laplace"\nepsilon_e = 0.2\n')
    file.write_text(text.replace("batch = 7", "batch = 7\nheldout = 0.2") + "[stop]\nupdates = 9\n")
    quick("plan", file, *CROWD, "--write").said()
    assert Task.from_toml(file.read_text()).terms.promise.epsilon_per_person == 4.0


def test_a_picture(quick: Here, file: Path, tmp_path: Path) -> None:
    quick("plan", file, *CROWD, "--plot", tmp_path / "options.svg").said()
    assert "<svg" in (tmp_path / "options.svg").read_text()[:500]


@pytest.fixture
def room(tmp_path: Path, quick: Here) -> tuple[Path, Path]:
    """Make a task with a start, and its pilot of 5 people with 8 rows each."""
    rows = [f"p{k % 5},{20 + (7 * k) % 11 / 2},{'warm' if (7 * k) % 11 > 5 else 'cold'}\n"
            for k in range(40)]  # fmt: skip
    pilot, file = tmp_path / "pilot.csv", tmp_path / "room.toml"
    pilot.write_text("person,warmth [°C],vote\n" + "".join(rows))
    quick("task", "new", "room", "--pilot", pilot, "--out", file).said()
    return file, pilot


def test_a_plan_on_the_pilot(quick: Here, room: tuple[Path, Path], tmp_path: Path) -> None:
    file, pilot = room
    arguments = ("plan", file, "--data", pilot, *CROWD)
    found = quick(*arguments, "--plot", tmp_path / "room.svg", "--json").json()
    assert {"guess_error", "central_error", "options", "recommended", "pilot_error"} <= set(found)
    assert [option["epsilon"] for option in found["options"]] == [0.5, 1, 2, 4, 8]
    assert found["recommended"] in found["options"]
    assert found["own"]["epsilon"] in (1, 4)
    assert "<svg" in (tmp_path / "room.svg").read_text()[:500]
    said = " ".join(quick(*arguments, "--write").said().split())
    order = ["Recommended: ε =", "guessing", "the pilot alone", "this crowd", "at ε = 0.5",
             "at ε = 8", "60 people at", "A pilot of 5 people"]  # fmt: skip
    places = [said.index(each) for each in order]
    assert places == sorted(places)
    assert f"epsilon = {found['recommended']['epsilon']}" in file.read_text()


def test_a_new_task_has_the_recommended_epsilon(
    quick: Here, room: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "other.toml"
    quick("task", "new", "other", "--pilot", room[1], "--out", out,
          "--devices", 60, "--samples", 8).said()  # fmt: skip
    words = " ".join(out.read_text().replace("\n#", "").split())
    (chosen,) = re.findall(r"Recommended: ε = ([\d.]+)\.", words)
    assert f"epsilon = {float(chosen)}" in words
    assert "Guessing has an error of" in words


def test_a_start_needs_data(quick: Here, room: tuple[Path, Path]) -> None:
    assert "Name the pilot with --data FILE" in quick("plan", room[0], *CROWD, "--json").err
    assert "need --data FILE" in quick("plan", room[0], *CROWD, "--label", "vote").error()


def test_rows_that_constants_make_short(quick: Here, room: tuple[Path, Path]) -> None:
    file, pilot = room
    plan = ("plan", file, "--data", pilot, *CROWD, "--json")
    assert "note:" not in quick(*plan).err
    lines = [
        line for line in file.read_text().splitlines() if not line.startswith(("start", "pilot"))
    ]
    file.write_text(re.sub(r"\nlength = \S+", "\nlength = 50.0", "\n".join(lines)))
    assert "note: the task's center, scale and length must bring" in quick(*plan).err


def test_data_by_name_for_a_task_without_a_start(quick: Here, room: tuple[Path, Path]) -> None:
    file, pilot = room
    lines = [
        line for line in file.read_text().splitlines() if not line.startswith(("start", "pilot"))
    ]
    file.write_text("\n".join(lines))
    assert quick("plan", file, "--data", pilot, *CROWD, "--json").json()["central_error"] < 0.2


def test_a_wrong_file_is_named_by_its_fields(quick: Here, file: Path) -> None:
    file.write_text(STEPS.replace("count = 5", "count = 0"))
    assert "features.count must be" in quick("plan", file, *CROWD).err
    file.write_text(STEPS.replace("epsilon = 4.0", 'mechanism = "laplace"\nepsilon = inf'))
    assert "a plan needs a task with privacy" in quick("plan", file, *CROWD).error()


def test_a_plan_warns_if_too_few_devices_can_reach_the_target_error(
    quick: Here, file: Path, simulated: dict[bytes, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(STEPS + "[stop]\nerror = 0.2\n")
    said = quick("plan", file, *CROWD, "--json").err
    assert "the target error 0.2 needs reports of about" in said
    assert "of the 60 devices will report. The task ends by stop.updates." in said
    advice = next(iter(simulated.values()))
    monkeypatch.setattr(crowdml.simulation, "advise", lambda *asked, **settings: advice)
    for devices, few in ((1300, True), (1400, False)):
        said = quick("plan", file, "--devices", devices, "--samples", 10, "--json").err
        assert ("the target error 0.2" in said) == few


def test_a_plan_for_nobody_s_privacy_says_so(quick: Here, file: Path) -> None:
    file.write_text(STEPS.replace("epsilon = 4.0", "epsilon = 30.0"))
    assert "NOT PRIVATE. It has ε = 30 for a person" in quick("plan", file, *CROWD, "--json").err
