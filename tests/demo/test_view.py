"""Draw the live view without a terminal."""

import io
import math

import pytest
from rich.console import Console

from crowdml.demo.tasks import demo_task
from crowdml.demo.view import Progress, draw, line, show_live
from crowdml.protocol import Estimate, State, Statistics


def statistics(**changes: object) -> Statistics:
    fields: dict[str, object] = {
        "state": State.RUNNING, "version": 41, "devices": 67, "active_devices": 39,
        "samples": 2132, "error": Estimate(0.31, 0.12), "labels": (),
        "staleness_mean": 0.5, "staleness_max": 2, "checkins_per_minute": 300.0,
        "epsilon_per_sample": 1.0, "epsilon_per_checkin": 1.0, "epsilon_per_person": 4.0,
        "max_updates": 108, "target_error": None, "reports": 9,
        "error_text": "between 19 and 43\u00a0% wrong",
    }  # fmt: skip
    return Statistics(**(fields | changes))  # type: ignore[arg-type]


def progress(mechanism: str = "direction", epsilon: float = 4.0) -> Progress:
    task = demo_task("activity", mechanism, epsilon, [60] * 18)
    return Progress(task, "https://127.0.0.1:9", guess_error=0.547)


def text(now: Progress) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(draw(now))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_before_the_first_answer() -> None:
    assert "starting the server" in text(progress())
    assert line(progress()) == "starting"


def test_while_the_crowd_learns() -> None:
    now = progress()
    now.statistics = statistics()
    now.errors = [0.547, 0.4, 0.203]
    now.per_sample, now.per_person, now.central_error = 4.0, 4.0, 0.0123
    now.pilot_error = 0.0344
    drawn = text(now)
    for expected in (
        "What is the owner of this phone doing?",
        "https://127.0.0.1:9",
        "67 joined, 39 have checked in",
        "41 of 108",
        "between 19 and 43\u00a0% wrong",
        "0.203  █▆▄",
        "0.012  with all data in one place",
        "0.034  where the model started",
        "0.547",
        "4 by any person, in total",
    ):
        assert expected in drawn
    assert "NOT PRIVATE" not in drawn
    assert line(now).endswith(
        "39 of 67 devices have checked in, 41 of 108 check-ins, test error 0.203"
    )


def test_before_anything_is_known() -> None:
    now = progress()
    now.statistics = statistics(version=0, devices=0, active_devices=0, error=None)
    drawn = text(now)
    assert "0 joined, 0 have checked in" in drawn
    assert "not known  the server cannot know more" in drawn
    assert "central" not in drawn
    assert line(now).endswith("test error –")


def test_without_privacy() -> None:
    now = progress("laplace", math.inf)
    now.statistics = statistics(epsilon_per_sample=None)
    now.per_sample = now.per_person = math.inf
    assert "∞ (NOT PRIVATE)" in text(now)


@pytest.mark.parametrize("length", [1, 36, 37, 1000])
def test_a_long_curve_stays_on_one_line(length: int) -> None:
    now = progress()
    now.statistics = statistics()
    now.errors = [1.0 - i / length for i in range(length)]
    (drawn,) = (row for row in text(now).splitlines() if "true test error" in row)
    assert f"{now.errors[-1]:.3f}  " in drawn
    bars = sum(drawn.count(bar) for bar in "▁▂▃▄▅▆▇█")
    assert bars == min(length, {37: 19, 1000: 36}.get(length, length))


def test_a_terminal_is_redrawn_and_a_file_is_not() -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        now = progress()
        now.statistics = statistics()
        with show_live(now, console):
            pass
        assert isinstance(console.file, io.StringIO)
        assert ("67 joined" in console.file.getvalue()) == terminal
