"""Charts of what a crowd told: estimates with the band that belongs to them."""

from typing import Any

import pytest

from crowdml.portal.captions import note_error, note_labels
from crowdml.portal.charts import CHARTS, error_rows
from crowdml.portal.drawing import THEMES, save
from crowdml.portal.facts import Facts
from crowdml.protocol import State, Statistics
from crowdml.server.history import Point
from crowdml.server.reports import Course
from crowdml.server.totals import error_estimate
from tests.servers import make_task

DIRECTION: dict[str, Any] = {"privacy__mechanism": "direction"}
NOTHING = Statistics(State.RUNNING, 9, 9, 9, None, None, None, (), 0.0, 0, 0.0, 1.0, 9, None)


def point(**changes: float) -> Point:
    sums = dict.fromkeys(Point._fields, 0) | {"version": 500}
    return Point(**(sums | changes))  # type: ignore[arg-type]


def test_the_band_counts_the_checkins_that_evaluate() -> None:
    """Of 500 check-ins 100 evaluated: only their noise is in the estimate."""
    where = point(
        errors=20.0, evaluated=100, evaluations=100,
        recent_errors=10.0, recent_evaluated=50, recent_checkins=50,
    )  # fmt: skip
    facts = Facts(make_task(**DIRECTION), NOTHING, Course([where], {60: 500}, 0.3))
    recent = error_estimate(10.0, 50, 50, 0.3)
    assert recent is not None
    assert error_rows(facts) == [(500, recent.value, recent.margin, 0.2)]


def test_before_anyone_measured() -> None:
    """There are check-ins, so the picture must not say that there are none."""
    facts = Facts(make_task(**DIRECTION), NOTHING, Course([point()], {60: 500}, 0.3))
    assert error_rows(facts) == []
    for name in ("error", "labels"):
        picture = CHARTS[name].draw(facts, THEMES["light"])
        assert [text.get_text() for text in picture.axes[0].texts] == ["Not measured yet"]
        assert b"<svg" in save(picture, "svg", THEMES["light"])


@pytest.mark.parametrize(
    ("changes", "error", "labels"),
    [
        ({}, "with noise", "A bar below zero is noise."),
        ({"privacy__epsilon": float("inf")}, "on the devices’ own new samples: ", "exact counts."),
        (DIRECTION, "for people who did not train it", "A bar below zero is chance."),
        (
            DIRECTION | {"collection__checkins": 3},
            "for samples that did not train it",
            "A bar below zero is chance.",
        ),
        (DIRECTION | {"collection__evaluators": 0.0}, "Not measured", "reports"),
    ],
)
def test_notes_say_whose_error_it_is(changes: dict[str, Any], error: str, labels: str) -> None:
    task = make_task(**changes)
    assert error in note_error(task)
    assert labels in note_labels(task)
    if "with noise" not in error:
        assert "nois" not in note_error(task) + note_labels(task)
