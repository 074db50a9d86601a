"""Test that a pilot's rows are read as the devices of a task would read them."""

from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.pilot import read_samples
from crowdml.tables import Table, read_table
from tests.support.servers import make_task

NAMED: dict[str, Any] = {"features__count": 2, "features__names": ["light", "warmth"]}
LABELS: dict[str, Any] = {"target__labels": ["cold", "warm"]}


def table(text: str) -> Table:
    return read_table(text.encode(), name="pilot.csv")


def test_columns_are_found_by_name_and_labels_by_the_task() -> None:
    text = "warmth [°C],id,person,light,vote\n21,1,eva,300,warm\n19,2,eva,,cold\n20,3,max,4,odd\n"
    found = read_samples(table(text), make_task(**NAMED, **LABELS).terms)
    np.testing.assert_equal(found.x, [[300, 21], [np.nan, 19]])
    assert found.y.tolist() == [1, 0]
    assert found.people is not None
    assert found.n_people == 1


def test_columns_without_names_are_in_their_order() -> None:
    terms = make_task(features__count=2, **LABELS).terms
    found = read_samples(table("0.5,0.25,warm\n0,1,cold\n"), terms)
    assert (found.x.tolist(), found.y.tolist()) == ([[0.5, 0.25], [0, 1]], [1, 0])
    assert found.people is None
    named = read_samples(table("a,who,answer,b\n1,eva,warm,2\n3,eva,cold,4\n"), terms,
                         label="answer", person="who")  # fmt: skip
    assert (named.x.tolist(), named.n_people) == ([[1, 2], [3, 4]], 1)


def test_numbers_too() -> None:
    terms = make_task(features__count=1, target__labels=None, model__kind="huber").terms
    assert read_samples(table("x,y\n1,2.5\n2,3\n"), terms).y.tolist() == [2.5, 3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("light,warmht,vote\n1,2,warm\n", "'warmth' is missing, found 'warmht'"),
        ("light,warmth\n1,2\n", "a column with the answers, found 2 columns"),
        ("light,warmth,vote\n1,2,Warm\n", "must be a label of the task, cold, warm, found 'Warm'"),
        ("light,warmth,vote\n1,high,warm\n", "line 2, column 'warmth': must be a finite number"),
    ],
)
def test_rows_that_do_not_fit_the_task(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_samples(table(text), make_task(**NAMED, **LABELS).terms)
