"""Charts of what a crowd sent: estimates with the band that belongs to them."""

import re
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.portal.pictures.charts import CHARTS
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.error_chart import error_rows
from crowdml.portal.words import TaskNumbers, use_language
from crowdml.portal.words.performance import Performance
from crowdml.protocol import Estimate, State, Statistics
from crowdml.server.content_coding import compress
from crowdml.server.log.history import ErrorPoint, Point, TaskHistory
from tests.support.servers import make_task

DIRECTION: dict[str, Any] = {"privacy__mechanism": "direction"}
NOTHING = Statistics(
    State.RUNNING, 9, 9, 9, None, None, (), 0.0, 0, 0.0, 1.0, 1.0, 1.0, 9, None, "", 0
)


POINT = Point(500, 0, 3)
STILL = "always answering “still”"


def test_before_anyone_measured() -> None:
    """There are check-ins, so the picture must not say that there are none."""
    numbers = TaskNumbers(make_task(**DIRECTION), NOTHING, TaskHistory([POINT], {60: 500}))
    assert error_rows(numbers) == []
    for name, beginning in (("error", "Too uncertain to say"), ("labels", "Not measured yet.")):
        assert CHARTS[name].alt(numbers) == CHARTS[name].nothing(numbers)
        picture = CHARTS[name].picture(numbers, THEMES["light"])
        (text,) = picture.axes[0].texts
        assert text.get_text().startswith(beginning)
        assert b"<svg" in save(picture, "svg", THEMES["light"])


def test_an_ended_task_needs_no_more_check_ins() -> None:
    ended = msgspec.structs.replace(NOTHING, state=State.EXHAUSTED)
    numbers = TaskNumbers(make_task(**DIRECTION), ended, TaskHistory([POINT], {60: 9}))
    assert CHARTS["error"].nothing(numbers) == "Too uncertain to say: there were too few check-ins."
    assert CHARTS["labels"].nothing(numbers) == "Not measured."
    vague = (Estimate(0.5, 0.6), Estimate(0.3, 0.6), Estimate(0.2, 0.6))
    counted = numbers._replace(statistics=msgspec.structs.replace(ended, labels=vague))
    assert CHARTS["labels"].nothing(counted) == CHARTS["error"].nothing(numbers)
    never = numbers._replace(statistics=msgspec.structs.replace(ended, version=0))
    assert CHARTS["error"].nothing(never) == "There were no check-ins."


@pytest.mark.parametrize(
    ("changes", "error", "labels"),
    [
        ({}, "with noise", "From noisy counts"),
        (
            {"privacy__epsilon": float("inf")},
            "on the devices’ own new samples.",
            "Counted exactly.",
        ),
        (DIRECTION, "for people who did not train it", "check-ins that count answers"),
        (DIRECTION | {"collection__checkins": 3}, "samples that did not train it", "that count"),
        (DIRECTION | {"collection__evaluators": 0.0}, "no check-in evaluates", "that count"),
        (DIRECTION | {"collection__counters": 0.0}, "did not train it", "Not counted"),
        (
            {"target__labels": None, "model__kind": "huber", "model__clip": 1.0}
            | {"privacy__epsilon": float("inf")},
            "off by more than 1",
            "Not counted",
        ),
    ],
)
def test_notes_say_whose_error_it_is(changes: dict[str, Any], error: str, labels: str) -> None:
    task = make_task(**changes)
    notes = [CHARTS[name].note(task) for name in ("error", "labels")]
    assert error in notes[0]
    assert labels in notes[1]
    if "noisy" not in labels:
        assert "nois" not in " ".join(notes)


def measured(
    error: float, margin: float, *labels: tuple[float, float], **changes: Any
) -> TaskNumbers:
    """Make a task whose model has this error, with these counts of labels."""
    estimates = tuple(Estimate(*label) for label in labels)
    now = msgspec.structs.replace(NOTHING, error=Estimate(error, margin), labels=estimates)
    errors = [ErrorPoint(500, error, margin)]
    return TaskNumbers(make_task(**changes), now, TaskHistory([POINT], {60: 500}, errors))


def texts(numbers: TaskNumbers, name: str) -> str:
    return save(CHARTS[name].picture(numbers, THEMES["light"]), "svg", THEMES["light"]).decode()


def test_an_error_stands_beside_guessing() -> None:
    known = Performance(measured(0.14, 0.04, (0.5, 0.05), (0.3, 0.05), (0.2, 0.05)))
    assert known.sentence == (
        "Of the predictions of the model as it is now, between 10 and 18\u00a0% are wrong. "
        f"That is better than {STILL} (between 45 and 55\u00a0% wrong)."
    )
    worse = Performance(measured(0.7, 0.04, (0.5, 0.05), (0.3, 0.05), (0.2, 0.05)))
    assert f"That is worse than {STILL}" in worse.sentence
    # Where another answer may be as frequent, guessing at random is the comparison.
    vague = Performance(measured(0.6, 0.2, (0.5, 0.3), (0.3, 0.3), (0.2, 0.3)))
    assert vague.guess is not None
    assert vague.guess.words == "67\u00a0% wrong"
    assert "better than guessing at random (67\u00a0% wrong) is not known" in vague.sentence
    # The most frequent of three answers is at most two thirds wrong, whatever the margin is.
    clear = Performance(measured(0.6, 0.2, (0.5, 0.2), (0.25, 0.04), (0.25, 0.04))).guess
    assert clear is not None
    assert clear.words == "between 30 and 67\u00a0% wrong"
    for labels in ((), ((0.5, 0.6), (0.3, 0.6), (0.2, 0.6))):
        unknown = Performance(measured(0.1, 0.1, *labels))
        assert "better than guessing at random (67\u00a0% wrong)." in unknown.sentence
    kilograms: dict[str, Any] = {
        "target__labels": None,
        "target__unit": "kg",
        "model__kind": "huber",
    }
    number = Performance(measured(0.06, 0.02, **kilograms))
    assert number.guess is None
    assert number.sentence.endswith("A prediction is wrong if it is off by more than 1\u00a0kg.")
    assert number.typical_error == (
        "Of its predictions, between 92 and 96\u00a0% are off by at most 1\u00a0kg."
    )
    assert known.typical_error == ""
    hidden = Performance(measured(0.6, 0.7))
    assert hidden.sentence == "How often the model is wrong is not known."


def test_where_chance_hides_the_answer_no_curve_is_drawn() -> None:
    known = measured(0.6, 0.1, (0.5, 0.6), (0.3, 0.6), (0.2, 0.6))
    unknown = known._replace(history=known.history._replace(errors=()))
    assert "Too uncertain to say" in texts(unknown, "error")
    assert "Too uncertain to say" not in texts(known, "error")
    assert "Too uncertain to say" in texts(known, "labels")


FORTY = [f"label {k}" for k in range(40)]


def test_forty_labels_are_the_top_eight_and_others() -> None:
    shares = [(0.2 - 0.02 * k, 0.03) for k in range(9)] + [(0.0032, 0.004)] * 31
    numbers = measured(0.2, 0.1, *shares, target__labels=FORTY)
    axes = CHARTS["labels"].picture(numbers, THEMES["light"]).axes[0]
    names = [name.get_text() for name in axes.get_yticklabels()]
    assert names == [*FORTY[:8], "others (32)"]
    assert "others (32) between " in CHARTS["labels"].alt(numbers)
    assert len(CHARTS["labels"].rows(numbers)) == 40
    vague = measured(0.2, 0.1, *[(0.025, 0.2)] * 40, target__labels=FORTY)
    assert CHARTS["labels"].nothing(vague).startswith("Too uncertain to say")


def test_a_flat_zero_is_drawn_as_zero() -> None:
    points = [Point(10, 0, 3), Point(20, 0, 3)]
    numbers = TaskNumbers(make_task(**DIRECTION), NOTHING, TaskHistory(points, {60: 20}))
    axes = CHARTS["staleness"].picture(numbers, THEMES["light"]).axes[0]
    assert axes.get_ylim() == (0, 1)
    (line,) = axes.lines
    assert not line.get_clip_on(), "the axis would hide half of it"


@pytest.mark.parametrize("checkins", [70, 150, 9_999, 98_765, 1_234_567])
def test_ticks_stay_apart(checkins: int) -> None:
    points = [Point(checkins * k // 10, k, k) for k in range(1, 11)]
    errors = [ErrorPoint(point.version, 0.2, 0.1) for point in points]
    numbers = measured(0.2, 0.1)._replace(history=TaskHistory(points, {60: checkins}, errors))
    for name in ("error", "devices", "staleness"):
        picture = CHARTS[name].picture(numbers, THEMES["light"])
        picture.draw_without_rendering()
        (axes,) = picture.axes
        for labels, ends in ((axes.get_xticklabels(), "x"), (axes.get_yticklabels(), "y")):
            boxes = [label.get_window_extent() for label in labels if label.get_text()]
            sides = sorted((getattr(box, f"{ends}0"), getattr(box, f"{ends}1")) for box in boxes)
            assert len(sides) > 1
            # A browser's own font may be a tenth wider.
            gaps = [b[0] - a[1] - 0.1 * (a[1] - a[0]) for a, b in pairwise(sides)]
            assert min(gaps) > 0, (name, ends)


def test_ticks_are_written_as_the_reader_does() -> None:
    points = [Point(k, k // 2, min(k, 10)) for k in range(1, 20)]
    numbers = TaskNumbers(make_task(**DIRECTION), NOTHING, TaskHistory(points, {60: 20}))
    with use_language("de"):
        devices, late = texts(numbers, "devices"), texts(numbers, "staleness")
    ticks = [re.findall(r">(\d+[.,]?\d*)</text>", each) for each in (devices, late)]
    assert "10" in ticks[0]
    assert all(tick.isdigit() for tick in ticks[0]), "there is no half device"
    assert any("," in tick for tick in ticks[1])
    assert not any("." in tick for tick in ticks[1])


def test_shares_add_up_and_keep_their_names() -> None:
    numbers = measured(0.2, 0.1, (0.9, 0.2), (0.5, 0.2), (-0.1, 0.2))
    assert CHARTS["labels"].rows(numbers) == [
        ("still", pytest.approx(0.7), 0.9, 0.2),
        ("walk", pytest.approx(0.3), 0.5, 0.2),
        ("run", 0.0, -0.1, 0.2),
    ]


def test_a_long_course_is_a_light_picture() -> None:
    """The newest point is drawn, and what a phone loads stays a few kilobytes."""
    numbers = measured(0.2, 0.1, (0.5, 0.1), (0.3, 0.1), (0.2, 0.1))
    points = [Point(10 * k, 0, k) for k in range(1, 513)]
    errors = [ErrorPoint(10 * k, 0.2 + k % 7 / 100, 0.1) for k in range(1, 513)]
    long = numbers._replace(history=numbers.history._replace(points=points, errors=errors))
    for name, chart in CHARTS.items():
        svg = texts(long, name)
        assert len(compress(svg.encode(), "br")) < 5_000, name
        if name == "error":
            (line,) = [
                line for line in chart.picture(long, THEMES["light"]).axes[0].lines
                if line.get_label() == "model"
            ]  # fmt: skip
            drawn = np.asarray(line.get_xdata())
            assert len(drawn) <= 80
            assert drawn[-1] == 5120
