"""Test the draft of a task: the text of its file, its start, and what its owner is shown."""

import tomllib
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidTask
from crowdml.learnt import read_start, write_start
from crowdml.pilot import draft as module
from crowdml.pilot import draft_task
from crowdml.pilot.draft import TaskDraft
from crowdml.privacy import bound_rows
from crowdml.protocol import Task
from crowdml.types import Array

HEADER = "light [lux],temperature [°C],vote,person"


def sample(n: int = 120, people: int = 4, seed: int = 0) -> Array:
    """Draw light and temperature in their own units."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(0, 1000, n).round(), rng.normal(21, 3, n).round(1)])


def csv(x: Array, people: int = 4, header: str = HEADER) -> bytes:
    votes = np.where(x[:, 1] < 19.5, "cold", np.where(x[:, 1] > 22.5, "warm", "fine"))
    rows = [
        f"{a},{b},{vote},p{k % people}"
        for k, ((a, b), vote) in enumerate(zip(x, votes, strict=True))
    ]
    return "\n".join([header, *rows]).encode()


def drafted(people: int = 4, n: int = 120, **options: Any) -> TaskDraft:
    return draft_task("room", csv(sample(n), people), "pilot.csv", **options)


@pytest.fixture(scope="module")
def draft() -> TaskDraft:
    return drafted()


def test_the_file_is_a_task_as_it_stands(draft: TaskDraft) -> None:
    task = Task.from_toml(draft.text, start=read_start(write_start(draft.start), "room.start.npz"))
    x, features = sample(), task.terms.features
    assert (task.name, features.names) == ("room", ("light", "temperature"))
    assert features.center == pytest.approx(x.mean(axis=0), rel=1e-3)
    assert features.scale == pytest.approx(x.std(axis=0), rel=1e-3)
    lengths = np.linalg.norm(features.scaled_rows(x), axis=1)
    assert (lengths <= 1).mean() == pytest.approx(0.9, abs=0.01)
    assert set(task.terms.target.labels) == {"cold", "fine", "warm"}
    assert task.terms.model.start is not None
    assert (task.terms.model.start.rows, task.terms.model.start.people) == (120, 4)
    for line in ('    "light",                 # lux', '    "temperature",           # °C'):
        assert line.replace(" ", "") in draft.text.replace(" ", "")
    assert max(map(len, draft.text.splitlines())) <= 100


def test_the_start_fits_rows_as_devices_scale_them(draft: TaskDraft) -> None:
    """Check that the start was fitted with the rounded constants that are in the file."""
    task, x = draft.task, sample()
    model, features = task.terms.make_model(), task.terms.features
    z = bound_rows(features.scaled_rows(x), 2)
    votes = np.where(x[:, 1] < 19.5, "cold", np.where(x[:, 1] > 22.5, "warm", "fine"))
    y = np.array([task.terms.target.labels.index(vote) for vote in votes], dtype=np.float64)
    slope = model.mean_gradient(draft.start.w, z, y, np.inf)
    slope += draft.start.regularization * draft.start.w
    assert np.linalg.norm(slope) < 1e-5


def test_intercepts_are_chosen_and_the_file_says_why(draft: TaskDraft) -> None:
    """Check that the draft has intercepts, which the label in the middle needs.

    Labels that are shares of a sum do not need intercepts.
    """
    without, having = draft.errors
    assert having < without
    said = f"# the pilot's error is {having:.3f} with intercepts and {without:.3f} without"
    assert said in draft.text
    assert draft.task.terms.model.intercept
    assert draft.start.error == having


def test_what_the_owner_is_shown(draft: TaskDraft) -> None:
    assert [*map(str, draft.findings)][1:2] == ["'person' names 4 people."]
    assert draft.start.error is not None
    last = str(draft.findings[-1])
    assert last.startswith("The pilot alone is between 0 and ")
    assert "wrong (by people), where guessing is 6" in last
    assert str(draft.reveals).startswith("room.start.npz is public once the task is created.")


@pytest.mark.parametrize(
    ("people", "n", "options", "epsilon", "why", "batch", "updates"),
    [
        (4, 120, {}, 1.0, "1 is strong, and the start makes it practical", 30, 1000),
        (100, 100, {"devices": 300, "samples": 44}, 1.0, "1 is strong", 44, 300),
        (1, 120, {}, 4.0, "One person's pilot may be unlike others", 100, 1000),
        (40, 40, {}, 4.0, "A pilot of 40 rows is a weak start", 50, 1000),
    ],
)
def test_what_the_pilot_allows(
    people: int, n: int, options: Any, epsilon: float, why: str, batch: int, updates: int
) -> None:
    draft = drafted(people, n, **options)
    document = tomllib.loads(draft.text)
    assert document["privacy"] == {"epsilon": epsilon}
    assert (document["collection"], document["stop"]) == ({"batch": batch}, {"updates": updates})
    assert why in draft.text.replace("\n# ", " ")


def test_a_plan_chooses_another_epsilon(draft: TaskDraft) -> None:
    planned = draft.with_epsilon(2.0, "300 people at ε = 2 improve the pilot.")
    assert planned.task.terms.privacy.epsilon == 2
    assert "# 300 people at ε = 2 improve the pilot.\nepsilon = 2.0 " in planned.text
    assert "1 is strong" not in planned.text


def test_numbers_have_a_scale_and_a_tolerance() -> None:
    x = sample(200)
    y = 100_000 + 3000 * x[:, 1] + np.random.default_rng(1).normal(0, 500, 200)
    rows = "\n".join(f"{a},{b},{c:.2f}" for (a, b), c in zip(x, y, strict=True))
    draft = draft_task("load", f"light,temperature,power\n{rows}".encode(), "pilot.csv")
    terms = draft.task.terms
    assert terms.target.scale == pytest.approx(y.std(), rel=0.05)
    assert terms.target.scale == float(f"{terms.target.scale:.1e}") == terms.model.delta
    assert terms.model.tolerance == pytest.approx(terms.target.scale / 2, rel=0.02)
    assert terms.model.radius > 10 * np.linalg.norm(draft.start.w) * 0.9
    assert draft.start.error is not None
    assert draft.start.error < 0.2


def test_columns_without_names_have_none() -> None:
    rows = csv(sample()).decode().splitlines()[1:]
    draft = draft_task("room", "\n".join(row.rpartition(",")[0] for row in rows).encode(), "a.csv")
    assert draft.features.names == ()
    assert draft.task.terms.features.count == 2


def test_an_empty_cell_is_the_center() -> None:
    text = csv(sample()).decode().splitlines()
    text[5] = "," + text[5].partition(",")[2]
    draft = draft_task("room", "\n".join(text).encode(), "pilot.csv")
    assert draft.task.terms.features.missing == "center" == draft.start.missing


def test_texts_of_a_pilot_cannot_break_the_file() -> None:
    header = '"li""ght\\ [lux]",x y,vote,person'
    data = csv(sample(), header=header).replace(b"fine", b'f"\\ine')
    draft = draft_task("room", data, "pilot.csv")
    assert 'f"\\ine' in draft.task.terms.target.labels
    assert draft.task.terms.features.names == ('li"ght\\', "x y")
    with pytest.raises(InvalidTask, match=r"features\.names must not have control characters"):
        draft_task("room", csv(sample(), header="li\x7fght,x y,vote,person"), "pilot.csv")
    with pytest.raises(InvalidTask, match="labels must be a list"):
        draft_task("room", csv(sample()).replace(b"fine", b"f" * 99), "pilot.csv")
    with pytest.raises(InvalidTask, match="name must be"):
        draft_task("../room", csv(sample()), "pilot.csv")


def test_of_very_many_rows_some_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FITTED", 100)
    draft = drafted()
    assert draft.start.rows == 100
    assert "The start is fitted to 100 of the 120 rows, drawn at random." in map(
        str, draft.findings
    )


def test_a_draft_has_no_row_of_the_pilot(draft: TaskDraft) -> None:
    held = draft.text.encode() + write_start(draft.start)
    for value in sample()[:, 1]:
        assert f"{value}".encode() not in held or f"{value}" in draft.text
    arrays = np.load(__import__("io").BytesIO(write_start(draft.start)))
    assert all(arrays[key].size <= 6 for key in arrays.files)
