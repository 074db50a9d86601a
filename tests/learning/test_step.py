"""Test that the step is a pure function, for every mechanism, optimizer and rate."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crowdml.learning import CheckinStep, LearningState, StoppingRule, Totals
from crowdml.optim import OPTIMIZERS, constant, sgd
from crowdml.privacy import CheckinEstimates
from tests.support.servers import make_direction_task, make_task

STEPS = 250
"""More steps than are remembered, so that lengths and error counts are forgotten, too."""

NOISY = ["laplace", "gaussian"]


def readings(size: int, evaluated: int) -> Iterator[CheckinEstimates]:
    rng = np.random.default_rng(0)
    for i in range(STEPS):
        g = rng.normal(size=size) * (50.0 if i % 20 == 0 else 1.0)
        g.flags.writeable = False
        counts: dict[str, Any] = {"evaluated": evaluated, "errors": i / 7, "reported_errors": i % 2}
        labels = tuple(rng.normal(size=3).tolist())
        yield CheckinEstimates(
            None if i % 5 == 1 else g, **counts, labels=labels, labelled=evaluated
        )


def frozen(state: LearningState) -> LearningState:
    """Return the same state with read-only arrays, so that any write to them fails."""
    for value in (state.w, *state.optimizer.values()):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return state


def content(state: LearningState) -> list[bytes]:
    """Return every number of the state as bytes."""
    assert state.evidence is not None
    parts = [state.w, *map(np.asarray, state.optimizer.values())]
    more = [state.totals.to_array(), state.reports.rows, state.evidence.to_array()]
    usual = [] if state.usual is None else [state.usual.to_array()]
    numbers = np.array([state.version, state.reached, state.staleness_max])
    return [part.tobytes() for part in (*parts, *more, *usual, numbers)]


@pytest.mark.parametrize("averaging", [None, 3.0])
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("mechanism", [*NOISY, "direction"])
def test_a_step_never_changes_what_it_is_given(
    mechanism: str, kind: str, averaging: float | None
) -> None:
    """Check that two steps from one state agree, and that no state changes long afterwards."""
    settings: dict[str, Any] = {
        "privacy__mechanism": mechanism,
        "optimizer__kind": kind,
        "optimizer__averaging": averaging,
        "stop__error": 0.3,
        "stop__window": 20,
    }
    task = make_task(**settings) if mechanism in NOISY else make_direction_task(**settings)
    made, size = task.terms.mechanism(), task.terms.make_model().size
    step = CheckinStep.of(task, made)
    assert (step.limit is None) == (mechanism == "direction")
    states, reported = (
        [frozen(step.start(size, Totals((0.0,) * 3)))],
        list(readings(size, 1 if step.limit is None else 3)),
    )
    before = [content(states[0])]
    for i, estimates in enumerate(reported):
        now, again = (step(states[-1], estimates, i % 7, 3, i % 4) for _ in range(2))
        assert content(now) == content(again)
        states.append(frozen(now))
        before.append(content(now))
    assert [content(state) for state in states] == before
    assert (states[-1].version, states[-1].staleness_max) == (STEPS, 3)


def test_the_limit_is_what_makes_a_long_gradient_short() -> None:
    task = make_task()
    made = task.terms.mechanism()
    step = CheckinStep.of(task, made)
    assert step.limit == pytest.approx(made.length + 3 * math.sqrt(made.noise_energy))
    long = np.full(task.terms.make_model().size, 1e6)
    short = long / np.linalg.norm(long) * step.limit
    free = step._replace(limit=None)
    limited, expected, unlimited = (
        one(one.start(len(g)), CheckinEstimates(g=g), 0).w
        for one, g in ((step, long), (step, short), (free, long))
    )
    np.testing.assert_allclose(limited, expected)
    assert np.linalg.norm(unlimited) > 2 * np.linalg.norm(limited)


def test_what_each_reading_changes() -> None:
    """Check that two reports of 0 wrong reach the target, and later reports do not undo that."""
    stopping = StoppingRule(
        0.5, 4, 2, 20, 0.6, 1, make_task(privacy__epsilon=math.inf).terms.mechanism()
    )
    step = CheckinStep(sgd(constant(1.0)), stopping=stopping)
    right, wrong = (CheckinEstimates(evaluated=10, errors=0.5, reported_errors=n) for n in (0, 10))
    train = CheckinEstimates(g=np.ones(2))
    seen, state = [], step.start(2)
    for estimates, device in ((train, 0), (right, 0), (right, 1), (wrong, 1), (wrong, 2)):
        state = step(state, estimates, device)
        assert state.evidence is not None
        reported = tuple(state.reports.rows[:, 2:4].sum(axis=0))
        held = len(state.evidence.windows[-1])
        seen.append((state.w[0], reported, held, state.reached))
    assert seen == [
        (-1, (0, 0), 0, False),
        (-1, (0.5, 10), 1, False),
        (-1, (1, 20), 2, True),
        (-1, (1.5, 30), 3, True),
        (-1, (2, 40), 4, True),
    ]
    assert state.evidence is not None
    assert not state.evidence.conclusive
    assert (state.totals.staleness, state.staleness_max) == (0, 0)
    unstopped = step._replace(stopping=None)
    after = unstopped(unstopped.start(2)._replace(version=5), right, 0, staleness=3)
    assert (after.evidence, after.reached, after.staleness_max) == (None, False, 3)
    assert after.reports.rows[:, 0] == 5 - 3
