"""Test the guarantee itself, computed exactly from the law of the noise for real neighbours."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.models import Hinge, Huber, Minibatch, Model, Softmax
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    CheckinKey,
    Law,
    NoiseLevels,
    NoiseMechanism,
    bound_features,
)
from crowdml.types import Array
from tests.privacy.law import (
    concentrated,
    gaussian_log_probability,
    log_probability,
    worst_log_ratio,
)
from tests.privacy.recording_chance import RecordingChance

LEVELS = NoiseLevels(gradient=0.7, errors=0.3, labels=0.13)
ROUNDING = 1 + 1e-9
PLACE = CheckinKey("00" * 32, "ana", 1)
LAW = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
COST: dict[str, Callable[[list[int], list[int], float], float]] = {
    "laplace": worst_log_ratio,
    "gaussian": concentrated,
}


def mechanism(law: Law, model: Model, heldout: float = 0.0) -> NoiseMechanism:
    return NoiseMechanism(
        law,
        LEVELS if model.n_classes else LEVELS._replace(labels=0.0),
        clip=min(2.0, model.bound(law.norm)),
        size=model.size,
        n_classes=model.n_classes,
        heldout=heldout,
        delta=0.0 if law.pure else 1e-6,
    )


def losses(
    made: NoiseMechanism, one: Minibatch, other: Minibatch, planted: float = 1.0
) -> dict[str, float]:
    """Return the ε, or ρ, of each release, over all outputs that the server could ever see.

    Both minibatches meet the same randomness: the first samples are held out.

    Args:
        made: The mechanism.
        one: A minibatch.
        other: The same with one sample replaced.
        planted: A wrong factor on the scale of the noise.
    """
    here, there = RecordingChance(), RecordingChance()
    event = made.event(one.n_samples)
    for minibatch, spy in ((one, here), (other, there)):
        made.make_payload(minibatch, event, PLACE, spy)
    assert here.scales == there.scales
    cost = COST[made.law.name]
    return {
        release.what: cost(u.tolist(), v.tolist(), planted * scale)
        for release, u, v, scale in zip(
            event.releases, here.values, there.values, here.scales, strict=True
        )
    }


Case = tuple[NoiseMechanism, Minibatch, Minibatch]


@st.composite
def neighbours(draw: st.DrawFn) -> Case:
    law = draw(st.sampled_from([LAPLACE, GAUSSIAN]))
    models: list[Model] = [Softmax(2, 3), Hinge(2, 2, intercept=True), Huber(2, delta=0.6)]
    model = draw(st.sampled_from(models))
    n = draw(st.integers(2, 6))
    w = draw(hnp.arrays(np.float64, model.size, elements=st.floats(-20, 20)))
    raw = draw(hnp.arrays(np.float64, (n + 1, 2), elements=st.floats(-5, 5)))
    targets = st.integers(0, max(model.n_classes - 1, 3)).map(float)
    y = draw(hnp.arrays(np.float64, n + 1, elements=targets))
    if model.n_classes:
        y %= model.n_classes
    x = np.array([bound_features(row, 2, law.norm) for row in raw])
    rows = np.arange(n)
    rows[draw(st.integers(0, n - 1))] = n
    made = mechanism(law, model, draw(st.sampled_from([0.0, 0.2, 0.5])))
    return made, Minibatch(model, w, x[:n], y[:n]), Minibatch(model, w, x[rows], y[rows])


@settings(deadline=None, max_examples=400)
@given(neighbours())
def test_no_pair_of_neighbours_loses_more_than_promised(case: Case) -> None:
    made, one, other = case
    lost = losses(made, one, other)
    event = made.event(one.n_samples)
    for release in event.releases:
        assert lost[release.what] <= release.level * ROUNDING
    promised = max(event.loss.epsilon, event.loss.rho)
    assert math.fsum(lost.values()) <= promised * ROUNDING


def worst_case(law: Law, model: Model, w: Array, *targets: float) -> tuple[Minibatch, Minibatch]:
    """Make two minibatches of five samples whose first sample has one or the other target."""
    x = np.zeros((5, model.n_features))
    x[:, 0] = 1.0
    y = np.zeros(5)
    sides = []
    for target in targets:
        y[0] = target
        sides.append(Minibatch(model, w, x, y.copy()))
    one, other = sides
    return one, other


def jump(law: Law, heldout: float = 0.0) -> Case:
    """Move a target from far below to far above, which turns a gradient from −S to S."""
    model = Huber(n_features=3, delta=0.7)
    return mechanism(law, model, heldout), *worst_case(law, model, np.zeros(3), -1e6, 1e6)


def turn(law: Law, heldout: float = 0.0) -> Case:
    """Change a label from right to wrong, which moves all counts."""
    model = Softmax(n_features=3, n_classes=3)
    w = np.zeros((3, 3))
    w[0] = 1e3
    return mechanism(law, model, heldout), *worst_case(law, model, w.ravel(), 0.0, 1.0)


@LAW
def test_promise_is_nearly_used_up(law: Law) -> None:
    """Check that the bound is nearly reached.

    So the check above is not vacuous, and no noise is wasted.
    """
    lost = losses(*jump(law))
    assert 0.9999 * LEVELS.gradient < lost["gradient"] <= LEVELS.gradient * ROUNDING
    lost = losses(*turn(law))
    assert lost["errors"] == pytest.approx(LEVELS.errors)
    assert lost["labels"] == pytest.approx(LEVELS.labels)


@LAW
def test_promise_is_used_up_by_a_held_out_sample(law: Law) -> None:
    lost = losses(*turn(law, heldout=0.2))
    assert lost["gradient"] == 0.0
    assert lost["errors"] == pytest.approx(LEVELS.errors)
    assert lost["labels"] == pytest.approx(LEVELS.labels)


@LAW
@pytest.mark.parametrize("planted", [0.5, 0.99, 1 / math.sqrt(2)])
def test_too_little_noise_would_be_found(law: Law, planted: float) -> None:
    lost = losses(*jump(law), planted)
    assert lost["gradient"] > LEVELS.gradient * ROUNDING
    lost = losses(*turn(law), planted)
    assert lost["errors"] > LEVELS.errors * ROUNDING
    assert lost["labels"] > LEVELS.labels * ROUNDING


@LAW
def test_a_divisor_of_the_batch_would_be_found(law: Law) -> None:
    """Check that noise for 2S/b instead of 2S/n, with held-out samples, breaks the guarantee."""
    made, one, other = jump(law, heldout=0.4)
    # The first two samples are held out, so the replaced sample must come last.
    one, other = (Minibatch(m.model, m.w, m.x[::-1], m.y[::-1]) for m in (one, other))
    assert losses(made, one, other)["gradient"] <= LEVELS.gradient * ROUNDING
    assert losses(made, one, other, planted=3 / 5)["gradient"] > 1.6 * LEVELS.gradient


def test_worst_ratio_by_brute_force() -> None:
    """Try every output of a small window, in two coordinates: the shortcut misses nothing."""
    u, v, scale = [3, -2], [1, 2], 2.7
    window = range(-15, 16)
    worst = max(
        sum(
            log_probability(o - a, scale) - log_probability(o - b, scale)
            for o, a, b in zip((o1, o2), u, v, strict=True)
        )
        for o1 in window
        for o2 in window
    )
    assert worst_log_ratio(u, v, scale) == pytest.approx(worst)
    assert worst == pytest.approx(6 / scale)


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 8.0])
def test_concentration_by_brute_force(order: float) -> None:
    """Check that Rényi's divergence of order α, over every output that counts, is at most αρ."""
    u, v, scale = 3, 1, 2.7
    logs = [
        order * gaussian_log_probability(o - u, scale)
        + (1 - order) * gaussian_log_probability(o - v, scale)
        for o in range(-150, 150)
    ]
    divergence = math.log(math.fsum(map(math.exp, logs))) / (order - 1)
    assert divergence == pytest.approx(order * concentrated([u], [v], scale), rel=1e-6)
