"""Test stopping: after T_max updates exactly, and at the target error by no luck and no lie."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidTask, Rejected
from crowdml.learning import StoppingRule
from crowdml.learning.stopping import ONE, WindowSums
from crowdml.privacy import DirectionMechanism
from crowdml.protocol import CheckinAnswer, State, Task, terms_hash
from crowdml.server import Store
from crowdml.server.log.checkin_rules import CheckinRules
from crowdml.server.log.learner import Learner
from crowdml.server.results.task_view import current_statistics
from tests.server.known_crowds import miscounting, responding
from tests.server.learners import arrivals, changed, new_learner, noisy, reopened
from tests.support.checkins import DirectionCheckin
from tests.support.servers import make_direction_task, make_task

# T_max


@pytest.mark.parametrize("make", [make_task, make_direction_task])
@pytest.mark.parametrize("groups", [(20,), (4, 16), (5, 5, 5, 5), (6, 14)])
def test_no_more_than_t_max_updates(
    store: Store, make: Callable[..., Task], groups: Sequence[int]
) -> None:
    task = make(stop__updates=5)
    learner = new_learner(store, task, snapshot_every=2)
    incoming = arrivals(task, sum(groups))
    answers: list[CheckinAnswer | Rejected] = []
    for size in groups:
        answers += learner.ingest(incoming[len(answers) : len(answers) + size])
    assert answers[:5] == [CheckinAnswer(i + 1, "applied") for i in range(5)]
    for answer in answers[5:]:
        assert isinstance(answer, Rejected)
        assert (answer.kind, answer.extra) == ("task-finished", {"state": State.EXHAUSTED})
    assert len(list(store.log(learner.id))) == 5
    again = reopened(store, task)
    assert again.state is State.EXHAUSTED
    assert again.ingest(incoming[:1]) == [CheckinAnswer(1, "duplicate")]


def test_a_repetition_of_what_came_after_the_end_is_rejected(store: Store) -> None:
    """Check that a check-in that was written and removed again gets no version."""
    task = make_task(stop__updates=2)
    learner = new_learner(store, task)
    first, second, late = arrivals(task, 3)
    answers = learner.ingest([first, first, second, late, late, second])
    assert [getattr(answer, "version", 0) for answer in answers] == [1, 1, 2, 0, 0, 2]
    assert learner.ingest([late, first])[1] == CheckinAnswer(1, "duplicate")
    assert len(store.log(learner.id)) == 2


# The target error, from counts with noise


def newest_error(learner: Learner) -> float:
    """Return a plain estimate: the share of errors in the newest 200 reports."""
    rows = learner.committed_fold().learning.reports.rows[-200:]
    return float(rows[:, 2].sum() / rows[:, 3].sum())


def target(error: float = 0.15) -> Task:
    return make_task(
        collection__batch=20, stop__error=error, privacy__epsilon=2.0, privacy__epsilon_e=0.1
    )


@pytest.mark.parametrize("seed", range(3))
def test_noise_alone_does_not_stop_a_task(store: Store, seed: int) -> None:
    """Use a true error a third above the target, so that a plain estimate dips below it at once."""
    task = target()
    incoming = miscounting(task, 1500, 0.2, np.random.default_rng(seed))
    learner = new_learner(store, task)
    dips = 0
    for start in range(0, 1500, 50):
        learner.ingest(incoming[start : start + 50])
        dips += newest_error(learner) <= 0.15
    assert dips > 0, "the noise must have been able to mislead"
    assert learner.state is State.RUNNING
    assert learner.version == 1500


def test_a_low_error_stops_a_task(store: Store) -> None:
    task = target(error=0.5)
    learner = new_learner(store, task, n=600)
    incoming = miscounting(task, 600, 0.05, np.random.default_rng(1))
    answers = learner.ingest(incoming)
    assert learner.state is State.REACHED
    assert 1000 / 20 <= learner.version < 600, "not before the least number of samples"
    rejected = answers[learner.version :]
    assert all(isinstance(answer, Rejected) for answer in rejected)
    assert reopened(store, task).state is State.REACHED


def test_too_few_samples_never_stop_a_task(store: Store) -> None:
    task = make_task(stop__error=0.9, stop__samples=1000, privacy__epsilon=float("inf"))
    learner = new_learner(store, task)
    for arrival in arrivals(task, 100):
        learner.ingest([changed(arrival, errors=0)])
    samples = current_statistics(learner).samples
    assert samples is not None
    assert samples < 1000
    assert learner.state is State.RUNNING


@pytest.mark.parametrize("errors", [-(10**9), 10**9])
def test_one_liar_cannot_stop_a_task(errors: int) -> None:
    task = target()
    rules, truth = CheckinRules(task.terms, terms_hash(task.terms.text)), noisy(task)
    rules.check(truth, "ana")
    with pytest.raises(Rejected, match=f"found {errors}") as caught:
        rules.check(msgspec.structs.replace(truth, errors=errors), "ana")
    assert caught.value.kind == "implausible"


def test_a_stopped_window_remembers_only_the_newest(store: Store) -> None:
    """Check that errors made long ago do not keep a task from stopping."""
    task = make_task(stop__window=40, stop__samples=100, stop__error=0.5,
                     privacy__epsilon=float("inf"))  # fmt: skip
    learner = new_learner(store, task, n=40)
    for i, arrival in enumerate(arrivals(task, 200, store.devices(learner.id))):
        errors = arrival.checkin.samples if i < 100 else 0
        learner.ingest([changed(arrival, errors=errors)])
        if learner.state.final:
            break
    assert learner.state is State.REACHED
    assert 120 < learner.version <= 140


# The target error, from the reports of people


def evaluated(error: float, **changes: Any) -> Task:
    """Make a task in which nearly everyone evaluates."""
    settings: dict[str, Any] = {
        "collection__checkins": 1,
        "privacy__epsilon": 4.0,
        "collection__evaluators": 0.9,
    }
    return make_direction_task(stop__error=error, **(settings | changes))


@pytest.mark.parametrize("seed", range(3))
def test_people_do_not_stop_a_task_by_luck(store: Store, seed: int) -> None:
    """Use a true error a fifth above the target, so that a plain estimate dips below it."""
    task = evaluated(0.25)
    learner = new_learner(store, task, n=3000)
    dips = 0
    incoming = responding(task, 3000, 0.3, np.random.default_rng(seed))
    for start in range(0, 3000, 50):
        learner.ingest(incoming[start : start + 50])
        dips += newest_error(learner) <= 0.25
    assert dips > 0, "chance must have been able to mislead"
    assert learner.state is State.RUNNING
    assert learner.version == 3000


def test_people_with_a_low_error_stop_a_task(store: Store) -> None:
    task = evaluated(0.25, stop__updates=3000)
    learner = new_learner(store, task, n=600)
    incoming = responding(task, 600, 0.05, np.random.default_rng(0))
    for arrival in incoming:
        learner.ingest([arrival])
    assert learner.state is State.REACHED
    fold = learner.committed_fold()
    assert len(fold.learning.reports) == 200 == task.fewest_evaluated, (
        "not before a full window of reports"
    )
    assert fold.version < 300, "and soon after it"
    assert reopened(store, task).state is State.REACHED


def test_the_window_is_of_reports_and_not_of_check_ins(store: Store) -> None:
    """Check that people who train say nothing about the error, and fill no place in the window."""
    task = evaluated(0.9, collection__evaluators=0.1, collection__counters=0.1, stop__window=10)
    learner = new_learner(store, task, n=400)
    incoming = responding(task, 400, 0.0, np.random.default_rng(0))
    learner.ingest(incoming)
    assert learner.state is State.REACHED
    payloads = [entry.payload for entry in store.log(learner.id)]
    assert (
        sum(b"wrong" in each for each in payloads)
        == 10
        == len(learner.committed_fold().learning.reports)
    )
    assert any(b"answer" in each for each in payloads), "an answer says nothing about the error"
    assert learner.version > 50, "eight of ten train"


def test_a_window_that_never_holds_enough_is_rejected() -> None:
    """Check that a rule that could never find its target error is rejected."""
    assert evaluated(0.1, stop__samples=200).fewest_evaluated == 200
    with pytest.raises(InvalidTask, match=r"stop\.samples must be at most stop\.window, 200"):
        evaluated(0.1, stop__samples=201)
    assert make_task(stop__error=0.1, stop__samples=5000).fewest_evaluated == 5000


def test_one_person_cannot_stop_a_task(store: Store) -> None:
    """Check that ten reports, the most of one person, are fewer than the two hundred needed."""
    task = evaluated(0.9, collection__checkins=10)
    learner = new_learner(store, task, n=1)
    for arrival in arrivals(task, 10, store.devices(learner.id)):
        assert isinstance(arrival.checkin, DirectionCheckin)
        evaluates = arrival.checkin.wrong is not None
        learner.ingest([changed(arrival, wrong=0) if evaluates else arrival])
    assert learner.version == 10
    assert learner.state is State.RUNNING


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("labels", [["no", "yes"], list("abcdefghij")])
@pytest.mark.parametrize("error", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_a_false_stop_is_as_rare_as_the_confidence_says(
    epsilon: float, labels: list[str], error: float
) -> None:
    """Compute the rate exactly, over everything that 200 people can report.

    Their true error is the target itself, and one in twenty always says that the prediction was
    right.
    """
    task = evaluated(error, privacy__epsilon=epsilon, target__labels=labels)
    mechanism, n, liars = task.terms.mechanism(), 200, 10
    assert isinstance(mechanism, DirectionMechanism)
    honest = math.exp(epsilon) / (math.exp(epsilon) + 1)
    wrong = 1 - honest + error * (2 * honest - 1)
    rule = StoppingRule.of(task, mechanism)
    assert rule is not None
    rule = replace(rule, looks=1)
    false_stop, truthful, allowed = 0.0, n - liars, (1 - task.stop.confidence) / 3
    share, noise, sampling = rule.expected(1)
    no, yes = round(-share * ONE), round((1 - share) * ONE)
    for k in range(truthful + 1):
        surplus, squares = k * yes + (n - k) * no, k * yes**2 + (n - k) * no**2
        if rule.is_met(WindowSums(n, n, surplus, squares, n * (noise + sampling))):
            false_stop += math.comb(truthful, k) * wrong**k * (1 - wrong) ** (truthful - k)
    assert false_stop <= 1.1 * allowed, "a tenth for whole numbers"
