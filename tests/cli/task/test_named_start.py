"""Test `crowdml task create` with a start beside the task file."""

from pathlib import Path

import numpy as np
import pytest

from crowdml.cli.consent import in_plain_words
from crowdml.learnt import write_model, write_start
from crowdml.privacy import Limits
from crowdml.protocol import Task
from tests.cli.command import Here
from tests.learnt.models import KINDS, learnt
from tests.protocol.files import task_file
from tests.protocol.starts import make_start

LABELS = {"target.labels": '["still", "walk", "run"]', "optimizer.rate": None}


def write_task(folder: Path, start: str, **changes: str | None) -> None:
    named = {"model.start": f'"{start}"', "model.pilot": '"our office"'}
    (folder / "a.toml").write_text(task_file(LABELS | named | changes))


def test_a_start_beside_the_task_file(quick: Here) -> None:
    folder = quick.folder / "tasks"
    folder.mkdir()
    (folder / "a.start.npz").write_bytes(write_start(make_start()))
    write_task(folder, "a.start.npz")
    said = quick("task", "create", "tasks/a.toml").said()
    assert "The model starts from a pilot of 200 samples of 4 people (our office)." in said
    assert "whom this task's promise does not protect" in said
    assert "default reach" not in said
    assert make_start().sha256 in quick("task", "show", "activity", "--json").json()["terms"]


@pytest.mark.parametrize("kind", ["npz", "json"])
def test_an_exported_model_as_the_start(quick: Here, kind: str) -> None:
    model = learnt(KINDS["softmax"])
    (quick.folder / f"old.{kind}").write_bytes(write_model(model, kind))
    write_task(quick.folder, f"old.{kind}")
    said = quick("task", "create", "a.toml").said()
    assert "The model starts from one that was learnt before (our office)." in said
    assert "so the task uses the default reach" in said


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (None, "a.start.npz cannot be read: No such file"),
        (b"hello", "must be an .npz or .json file"),
        (write_start(make_start())[:200], "damaged or something else"),
        (write_start(make_start(("a", "b"))), "must have the labels of target.labels"),
        (write_start(make_start(weights=np.ones((3, 9)))), "must have weights for 4 features"),
        (write_start(make_start(length=2.0)), "features.length"),
    ],
)
def test_a_bad_start_creates_nothing(quick: Here, data: bytes | None, match: str) -> None:
    if data is not None:
        (quick.folder / "a.start.npz").write_bytes(data)
    write_task(quick.folder, "a.start.npz")
    assert match in quick("task", "create", "a.toml").error()
    assert not (quick.folder / "crowdml.db").exists()


def test_consent_says_where_the_model_starts() -> None:
    text, start = (
        task_file(LABELS | {"model.pilot": '"our office"', "model.start": '"a"'}),
        make_start(),
    )
    terms = Task.from_toml(text, start=start).terms
    lines = "\n".join(in_plain_words(terms, Limits(1.0, 4.0)))
    assert "The model starts from a pilot of 200 samples of 4 people (our office)." in lines
