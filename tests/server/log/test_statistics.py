"""Test the statistics of a task: the sums of its log, and estimates that cover the truth."""

import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.learning import TWO_SIDED_95, share_estimate
from crowdml.privacy import DirectionMechanism
from crowdml.protocol import Estimate, Task
from crowdml.server import Store
from crowdml.server.log.decision import Arrival
from crowdml.server.results.task_view import current_statistics
from tests.server.known_crowds import responding
from tests.server.learners import arrivals, changed, ingest_now, new_learner, reopened
from tests.support.checkins import DirectionCheckin, NoiseCheckin
from tests.support.servers import make_direction_task, make_task

SIX_SIGMA = 6 / TWO_SIDED_95
"""A margin times this factor misses the truth with probability 2e-9, by the normal law.

There are enough reports here for that law to be off by less than a factor of ten.
"""

SHARES = (0.6, 0.3, 0.1)


# Counts with noise


def test_totals_are_the_sums_of_the_log(store: Store) -> None:
    task = make_task(collection__heldout=0.4)
    learner = new_learner(store, task)
    incoming = arrivals(task, 20)
    learner.ingest(incoming)
    shown = current_statistics(learner)
    messages = [a.checkin for a in incoming if isinstance(a.checkin, NoiseCheckin)]
    samples = sum(message.samples for message in messages)
    assert shown.samples == samples
    assert shown.active_devices == 3
    totals = learner.committed_fold().learning.totals
    assert totals.evaluated == sum(message.heldout or message.samples for message in messages)
    assert totals.errors == sum(m.errors for m in messages)
    for k, estimate in enumerate(shown.labels):
        assert estimate.value == sum(m.labels[k] for m in messages) / samples


# Reports of people


def people(**changes: Any) -> Task:
    settings: dict[str, Any] = {"collection__checkins": 1, "privacy__epsilon": 4.0}
    return make_direction_task(**(settings | changes))


def covers(estimate: Estimate | None, truth: float) -> bool:
    assert estimate is not None
    return abs(estimate.value - truth) <= SIX_SIGMA * estimate.margin


def test_a_new_task_knows_nothing(store: Store) -> None:
    shown = current_statistics(new_learner(store, people()))
    assert (shown.error, shown.labels, shown.samples) == (None, (), None)


def test_training_check_ins_say_nothing_about_errors(store: Store) -> None:
    task = people(collection__checkins=10, collection__evaluators=0.0, collection__counters=0.0)
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 30))
    shown = current_statistics(learner)
    assert (shown.version, shown.active_devices) == (30, 3)
    assert (shown.error, shown.labels) == (None, ())


def test_samples_that_nobody_sends_are_not_known(store: Store) -> None:
    task = people()
    learner = new_learner(store, task, snapshot_every=1)
    learner.ingest(arrivals(task, 3))
    assert current_statistics(learner).samples is None
    assert current_statistics(reopened(store, task)).samples is None
    for did in store.log(learner.id).by_device(range(10)).values():
        assert (did.checkins, did.samples) == (1, None)


def spread(epsilon: float, error: float = 0.3) -> float:
    """Return the standard deviation of one debiased response, from the law of the response."""
    honest = math.exp(epsilon) / (math.exp(epsilon) + 1)
    says_wrong = 1 - honest + error * (2 * honest - 1)
    return math.sqrt(says_wrong * (1 - says_wrong)) / (2 * honest - 1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_estimates_cover_the_truth(store: Store, epsilon: float) -> None:
    """Check five estimates, each wrong with a probability below 2e-8 if nothing were seeded.

    The responses come from the definition of randomised response, not from the mechanism.
    """
    task = people(
        privacy__epsilon=epsilon,
        collection__evaluators=0.5,
        collection__counters=0.4,
    )
    learner = new_learner(store, task, n=6000)
    rng = np.random.default_rng(3)
    ingest_now(learner, responding(task, 6000, 0.3, rng, SHARES))
    shown = current_statistics(learner)
    n = learner.committed_fold().learning.totals.evaluated
    assert 2500 < n < 3500
    assert covers(shown.error, 0.3)
    for estimate, share in zip(shown.labels, SHARES, strict=True):
        assert covers(estimate, share)
    assert shown.error is not None
    plain = TWO_SIDED_95 * spread(epsilon) / n**0.5
    assert plain < shown.error.margin < 4 * plain, "wider by what the model may have learnt since"


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("n", [5, 21, 100, 200])
@pytest.mark.parametrize("error", [0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
def test_a_margin_covers_as_often_as_it_says(epsilon: float, n: int, error: float) -> None:
    """Compute the coverage exactly, over everything that n people can report.

    Whole numbers cost a little of the 95 %.
    """
    mechanism = people(privacy__epsilon=epsilon).terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    honest = math.exp(epsilon) / (math.exp(epsilon) + 1)
    wrong = 1 - honest + error * (2 * honest - 1)
    covered = 0.0
    for k in range(n + 1):
        errors = (k - n * (1 - honest)) / (2 * honest - 1)
        estimate = share_estimate(errors, n, n, mechanism.error_variance)
        assert estimate is not None
        if abs(estimate.value - error) <= estimate.margin:
            covered += math.comb(n, k) * wrong**k * (1 - wrong) ** (n - k)
    assert covered >= 0.915


def test_numbers_have_errors_and_no_labels(store: Store) -> None:
    """Check a real target, for which an evaluation says: within the tolerance, or not.

    The probability of failure is as above.
    """
    task = people(model__kind="ridge", target__labels=None, collection__evaluators=0.9)
    learner = new_learner(store, task, n=2000)
    ingest_now(learner, responding(task, 2000, 0.2, np.random.default_rng(0)))
    shown = current_statistics(learner)
    assert shown.labels == ()
    assert covers(shown.error, 0.2)


def sent(incoming: list[Arrival]) -> list[DirectionCheckin]:
    return [a.checkin for a in incoming if isinstance(a.checkin, DirectionCheckin)]


def test_every_answer_counts_for_its_label(store: Store) -> None:
    """Check without randomness that the estimates of C labels add up to one, for any answers."""
    task = people(collection__checkins=10, collection__evaluators=0.4, collection__counters=0.5)
    learner = new_learner(store, task)
    incoming = arrivals(task, 30)
    learner.ingest(incoming)
    shown = current_statistics(learner)
    assert sum(estimate.value for estimate in shown.labels) == pytest.approx(1.0)
    answers = [each.answer for each in sent(incoming) if each.answer is not None]
    evaluated = sum(each.wrong is not None for each in sent(incoming))
    totals = learner.committed_fold().learning.totals
    assert (totals.labelled, totals.countings) == (len(answers), len(answers))
    assert (totals.evaluated, totals.evaluations) == (evaluated, evaluated)
    assert 0 < evaluated < 30 - len(answers)
    counts = np.bincount(answers, minlength=3)
    assert np.argsort([e.value for e in shown.labels]).tolist() == np.argsort(counts).tolist()


def test_labels_come_only_from_counting_check_ins(store: Store, tmp_path: Path) -> None:
    """Check that evaluations and directions do not affect labels, nor answers the error."""
    task = people(collection__checkins=10, collection__evaluators=0.4, collection__counters=0.4)
    learner = new_learner(store, task, snapshot_every=1)
    incoming = arrivals(task, 30)
    learner.ingest(incoming)
    shown = current_statistics(learner)
    assert current_statistics(reopened(store, task)) == shown, "a snapshot keeps what was counted"
    mechanism = task.terms.mechanism()
    n = sum(each.answer is not None for each in sent(incoming))
    for estimate in shown.labels:
        expected = share_estimate(estimate.value * n, n, n, mechanism.label_variance)
        assert expected == estimate
    for field, kept in (("wrong", "labels"), ("direction", "labels"), ("answer", "error")):
        other = []
        for arrival in incoming:
            value = getattr(arrival.checkin, field)
            turned = {} if value is None else {field: 0 if value else 1}
            other.append(changed(arrival, **turned))
        assert other != incoming
        with closing(Store(f"sqlite:///{tmp_path / field}.db")) as fresh:
            again = new_learner(fresh, task)
            again.ingest(other)
            assert getattr(current_statistics(again), kept) == getattr(shown, kept), field
