"""crowdml plan: from a task file to advice, and back into the file."""

from pathlib import Path

import pytest

from crowdml.protocol import Task
from tests.cli.command import Here

FILE = """\
name = "steps"
title = "Steps"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "motion"
[features]
count = 5
[target]
labels = ["a", "b"]
[model]
kind = "softmax"
[privacy]
epsilon = 4.0   # what a person loses in all
[collection]
batch = 7
"""
CROWD = ("--devices", 60, "--samples", 10, "--trials", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "steps.toml"
    path.write_text(FILE)
    return path


def test_the_contract(quick: Here, file: Path) -> None:
    found = quick("plan", file, *CROWD, "--json").json()
    assert {"guess_error", "central_error", "options", "recommended"} <= set(found)
    assert {"mechanism", "batch", "checkins", "error", "std"} <= set(found["options"][0])
    assert found["recommended"] in found["options"]


def test_a_file_from_standard_input(quick: Here, file: Path) -> None:
    arguments = ("plan", "-", *CROWD, "--json")
    assert quick(*arguments, typed=FILE).json() == quick("plan", file, *CROWD, "--json").json()
    refused = quick(*arguments, "--write", typed=FILE).error()
    assert "--write needs a task file to write to, found standard input" in refused


def test_what_the_file_itself_gives(quick: Here, file: Path) -> None:
    said = quick("plan", file, *CROWD).said()
    assert "As it is in the file: This crowd" in " ".join(said.split())


def test_words_for_people(quick: Here, file: Path) -> None:
    quick.changes["COLUMNS"] = "80"
    said = quick("plan", file, *CROWD, "--target-error", 0.3).said()
    assert "guessing" in said
    assert "This crowd" in said
    assert "devices" in said
    assert max(len(line) for line in said.splitlines()) <= 80


def test_the_advice_goes_into_the_file(quick: Here, file: Path) -> None:
    found = quick("plan", file, *CROWD, "--json", "--write").json()["recommended"]
    text = file.read_text()
    assert "epsilon = 4.0   # what a person loses in all" in text
    task = Task.from_toml(text)
    assert task.terms.mechanism_name == found["mechanism"] == "direction"
    assert task.terms.collection.batch == found["batch"]
    assert task.terms.collection.checkins == found["checkins"]
    assert task.t_max == 60 * found["checkins"]


def test_the_advice_leaves_line_ends_as_they_are(quick: Here, file: Path) -> None:
    file.write_bytes(FILE.replace("\n", "\r\n").encode())
    quick("plan", file, *CROWD, "--write").said()
    changed = file.read_bytes()
    assert changed.count(b"\n") == changed.count(b"\r\n") > FILE.count("\n")


def test_a_file_of_the_papers_way_becomes_one_for_people(quick: Here, file: Path) -> None:
    text = FILE.replace("[privacy]\n", '[privacy]\nmechanism = "laplace"\nepsilon_e = 0.2\n')
    file.write_text(text.replace("batch = 7", "batch = 7\nheldout = 0.2") + "[stop]\nupdates = 9\n")
    quick("plan", file, *CROWD, "--write").said()
    assert Task.from_toml(file.read_text()).terms.promise.epsilon_per_person == 4.0


def test_a_picture(quick: Here, file: Path, tmp_path: Path) -> None:
    quick("plan", file, *CROWD, "--plot", tmp_path / "options.svg").said()
    assert "<svg" in (tmp_path / "options.svg").read_text()[:500]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--difficulty", "odd"), "easy, medium or hard"),
        (("--data", "nothing.npz"), "nothing.npz"),
        (("--plot", "picture.gif"), "must end in"),
        (("--trials", 0), "trials must be at least 1"),
        (("--devices", 0), "devices must be at least 1"),
    ],
)
def test_wrong_wishes(
    quick: Here, file: Path, arguments: tuple[object, ...], sentence: str
) -> None:
    assert sentence in quick("plan", file, *CROWD, *arguments).error()
    assert file.read_text() == FILE


def test_a_wrong_file_is_named_by_its_fields(quick: Here, file: Path) -> None:
    file.write_text(FILE.replace("count = 5", "count = 0"))
    assert "features.count must be" in quick("plan", file, *CROWD).err
    file.write_text(FILE.replace("epsilon = 4.0", 'mechanism = "laplace"\nepsilon = inf'))
    assert "a plan is for a task with privacy" in quick("plan", file, *CROWD).error()


def test_a_plan_for_nobody_s_privacy_says_so(quick: Here, file: Path) -> None:
    file.write_text(FILE.replace("epsilon = 4.0", "epsilon = 30.0"))
    assert "NOT PRIVATE. It has ε = 30 for a person" in quick("plan", file, *CROWD, "--json").err
