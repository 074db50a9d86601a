"""Test that the file of a start is read as it was written, or rejected."""

import hashlib
import io
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.learnt import read_start, write_model, write_start
from crowdml.protocol import Start
from tests.learnt.models import KINDS, learnt

START = Start(
    kind="softmax",
    labels=("dry", "fine", "näss"),
    weights=np.arange(6.0).reshape(3, 2) / 7,
    intercepts=np.array([0.1, 0.2, 0.3]),
    names=("°C", "%"),
    center=(21.0, 45.0),
    scale=(3.0, 12.0),
    length=2.9,
    missing="center",
    norm=1,
    rows=200,
    people=4,
    regularization=0.003,
    distance=14.5,
    error=0.19,
    error_margin=0.05,
)
NUMBER = Start(kind="ridge", labels=(), weights=np.array([[1.0, 2.0]]), scale_of_target=30.0)


@pytest.mark.parametrize("start", [START, NUMBER], ids=["all is known", "little is known"])
def test_it_is_read_as_it_was_written(start: Start) -> None:
    again = read_start(write_start(start), "a.start.npz")
    for field in fields(Start):
        one, two = getattr(start, field.name), getattr(again, field.name)
        assert np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two, field.name
    assert again.w.tobytes() == start.w.tobytes()


def test_w_is_what_a_checkout_carries() -> None:
    w = np.array([*range(6), 0.7, 1.4, 2.1], dtype=np.float64) / 7
    assert START.data == w.astype("<f4").tobytes()
    assert START.w.tolist() == w.astype(np.float32).tolist()
    assert START.sha256 == hashlib.sha256(START.data).hexdigest()
    assert NUMBER.w.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", ["npz", "json"])
@pytest.mark.parametrize("task", KINDS.values(), ids=list(KINDS))
def test_an_exported_model_is_a_start(task: Any, kind: str) -> None:
    model = learnt(task)
    start = read_start(write_model(model, kind), f"model.{kind}")
    assert start.weights.tolist() == model.weights.tolist()
    assert (start.intercepts is not None) == task.terms.model.intercept
    assert (start.kind, start.labels, start.norm) == (
        model.about.kind,
        model.about.labels,
        model.about.norm,
    )
    assert (start.distance, start.rows, start.people, start.error) == (None, None, None, None)


def archive(**changed: Any) -> bytes:
    """Return the file of `START` with some arrays replaced, or left out where they are None."""
    with np.load(io.BytesIO(write_start(START))) as file:
        arrays = dict(file) | changed
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in arrays.items() if array is not None})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "must be an .npz or .json file"),
        (b"hello", "must be an .npz or .json file"),
        (b"{}", "must be a model that crowdml has exported"),
        (write_start(START)[:300], "damaged or something else"),
        (archive(format=np.array("other")), "must be a model that crowdml has exported"),
        (archive(weights=None), "it has no 'weights'"),
        (archive(kind=None), "kind"),
        (archive(kind=np.array("forest")), "kind must be softmax"),
        (archive(weights=np.ones((2, 2))), r"3×D weights and 3 intercepts or none, found .*2, 2"),
        (archive(weights=np.ones((3, 0))), "found the shapes"),
        (archive(weights=np.ones(6)), "found the shapes"),
        (archive(intercepts=np.ones(2)), "found the shapes"),
        (archive(weights=np.full((3, 2), np.nan)), "must be finite"),
        (archive(weights=np.full((3, 2), 1e39)), "must be finite"),
        (archive(weights=np.array([["a", "b"]] * 3)), "must be a start"),
        (archive(center=np.ones(3)), "as many center or none, found 3"),
        (archive(scale=np.array(["wide"])), "scale"),
        (archive(norm=np.array(3)), "norm"),
        (archive(rows=np.array(0)), "rows"),
        (archive(rows=None), "must have the number of its rows"),
        (archive(people=np.array(2.5)), "people"),
        (archive(distance=np.array(np.nan)), "distance"),
        (archive(error=np.array(1.5)), "error"),
        (archive(labels=np.array("dry")), "labels"),
    ],
)
def test_bad_files(data: bytes, match: str) -> None:
    with pytest.raises(InvalidInput, match=match) as error:
        read_start(data, "bad.start.npz")
    assert "bad.start.npz" in str(error.value)
