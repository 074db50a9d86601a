"""The door: the scale of the noise really used, what it costs, and what comes out."""

import math
import re

import numpy as np
import pytest

from crowdml.errors import InvalidInput, Rejected
from crowdml.privacy import (
    Epsilon,
    NoiseSource,
    Part,
    Sanitized,
    Sanitizer,
    Summary,
    laplace_scale,
    sensitivity_steps,
)
from crowdml.protocol import Checkin, Task, encode_gradient, terms_hash
from crowdml.server.admission import Gate
from crowdml.types import Array, Ints
from tests.privacy import law
from tests.privacy.pseudo import Pseudo
from tests.privacy.spy import Spy

SIZE = 6


def sanitizer(
    gradient: float = 0.7, errors: float = 0.3, labels: float = 0.13, **more: float
) -> Sanitizer:
    return Sanitizer(Epsilon(gradient, errors, labels), clip=2.0, size=SIZE, **more)


def summary(n_training: int = 20, n_heldout: int = 0, g: Array | None = None) -> Summary:
    return Summary(
        g=np.linspace(-0.5, 0.5, SIZE) if g is None else g,
        n_errors=3,
        n_labels=np.array([5, 7, 8]),
        n_training=n_training,
        n_heldout=n_heldout,
    )


def sanitized(door: Sanitizer, given: Summary, w: Array, noise: NoiseSource) -> Sanitized:
    return door.sanitize(given, w, door.event(given.n_training, given.n_heldout), noise)


@pytest.mark.parametrize("n_training", [1, 16, 20, 57])
@pytest.mark.parametrize("n_heldout", [0, 4])
def test_scale_of_the_noise(n_training: int, n_heldout: int) -> None:
    """(⌈2S/(nq)⌉ + d)/ε_g, 1/ε_e and 2/ε_y, with n the samples really behind the gradient."""
    spy, door = Spy(), sanitizer()
    out = sanitized(door, summary(n_training, n_heldout), np.zeros(SIZE), spy)
    steps = math.ceil(2 * 2.0 / n_training / 2.0**out.grid) + SIZE
    expected = [steps / 0.7, 1 / 0.3, 2 / 0.13]
    assert spy.scales == pytest.approx(expected, rel=1e-14)
    # In units of the gradient, the noise of Eq. (10): scale 4/(nε), and hardly more.
    in_units = spy.scales[0] * 2.0**out.grid
    assert 1.0 <= in_units / (4 / (n_training * 0.7)) < 1.0001


def test_divisor_is_the_samples_really_used() -> None:
    """More after an outage means less noise; fewer with held-out samples means more."""
    scales = {}
    for n_training in (16, 20, 57):
        spy, door = Spy(), sanitizer()
        grid = sanitized(door, summary(n_training), np.zeros(SIZE), spy).grid
        scales[n_training] = spy.scales[0] * 2.0**grid
    assert scales[16] / scales[20] == pytest.approx(20 / 16, rel=1e-4)
    assert scales[57] / scales[20] == pytest.approx(20 / 57, rel=1e-4)


@pytest.mark.parametrize("n_training", [1, 20, 57])
def test_noise_falls_on_the_rounded_secret(n_training: int) -> None:
    spy, door = Spy(), sanitizer(regularization=0.01, radius=50.0)
    given = summary(n_training)
    out = sanitized(door, given, np.full(SIZE, 5.0), spy)
    rounded = np.rint(given.g * 2.0**-out.grid)
    assert [v.tolist() for v in spy.values] == [rounded.tolist(), [3], [5, 7, 8]]
    decay = round(0.05 * 2.0**-out.grid)
    assert out.gradient.tolist() == (rounded + decay).tolist()
    assert (out.n_errors, out.n_labels.tolist()) == (3, [5, 7, 8])


def test_nothing_random_touches_the_decay() -> None:
    """λw is public: two parameters differ in the output by it exactly, under the same noise."""
    door = sanitizer(regularization=0.25, radius=4.0)
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
    plain = sanitized(door, summary(), np.zeros(SIZE), Spy())
    decayed = sanitized(door, summary(), w, Spy())
    difference = (decayed.gradient - plain.gradient) * 2.0**plain.grid
    assert difference.tolist() == (0.25 * w).tolist()


@pytest.mark.parametrize("far", [4.5, 1e6, 1e30, float(np.finfo(np.float32).max), 1e300])
@pytest.mark.parametrize("decay", [0.25, 1e6])
def test_decay_stays_within_the_radius(far: float, decay: float) -> None:
    """A server may send any w: λw is cut to λR, and no number overflows on the way."""
    door = sanitizer(regularization=decay, radius=4.0)
    w = far * np.array([1.0, -1.0, 1.0, -1.0, 0.0, 1.0])
    plain = sanitized(door, summary(), np.zeros(SIZE), Spy())
    decayed = sanitized(door, summary(), w, Spy())
    assert decayed.grid == plain.grid
    most = round(decay * 4.0 * 2.0**-plain.grid)
    assert (decayed.gradient - plain.gradient).tolist() == [most, -most, most, -most, 0, most]
    assert np.abs(decayed.gradient).max() <= 2**29 + 1


def test_no_decay_without_regularization() -> None:
    far = np.full(SIZE, 1e308)
    plain, same = (sanitized(sanitizer(), summary(), w, Spy()) for w in (np.zeros(SIZE), far))
    assert same.gradient.tolist() == plain.gradient.tolist()


def test_infinite_epsilon_adds_no_noise() -> None:
    spy, door = Spy(), sanitizer(math.inf, math.inf, math.inf)
    given = summary()
    out = sanitized(door, given, np.zeros(SIZE), spy)
    assert spy.scales == []
    assert np.allclose(out.gradient * 2.0**out.grid, given.g, atol=2.0**-28)
    assert (out.n_errors, out.n_labels.tolist()) == (3, [5, 7, 8])
    assert door.event(20, 0).per_sample == math.inf


def test_no_labels_are_sent_for_epsilon_zero() -> None:
    spy, door = Spy(), sanitizer(labels=0.0)
    out = sanitized(door, summary(), np.zeros(SIZE), spy)
    assert len(spy.scales) == 2
    assert out.n_labels.tolist() == []
    assert door.event(20, 0).per_sample == pytest.approx(0.7 + 0.3)


@pytest.mark.parametrize("noise", [2**40, -(2**40)])
def test_extreme_noise_stays_in_int32(noise: int) -> None:
    class Extreme(Spy):
        def add_laplace(self, values: Ints, scale: float) -> Ints:
            return np.asarray(values + noise)

    out = sanitized(sanitizer(), summary(), np.zeros(SIZE), Extreme())
    assert np.abs(out.gradient).tolist() == [2**31 - 1] * SIZE


@pytest.mark.parametrize(("n_heldout", "cost"), [(0, 0.7 + 0.3 + 0.13), (4, max(0.7, 0.3) + 0.13)])
def test_cost(n_heldout: int, cost: float) -> None:
    event = sanitizer().event(16, n_heldout)
    assert event.per_sample == pytest.approx(cost, rel=1e-15)
    assert event.n_samples == 16 + n_heldout
    assert {r.what: (r.part, r.sensitivity, r.epsilon) for r in event.releases} == {
        "gradient": (
            Part.TRAINING,
            sensitivity_steps(2.0, 16, sanitizer().grid(16), SIZE),
            0.7,
        ),
        "errors": (Part.HELDOUT if n_heldout else Part.TRAINING, 1, 0.3),
        "labels": (Part.ALL, 2, 0.13),
    }


def test_dear_errors_on_heldout_samples() -> None:
    assert sanitizer(gradient=0.2, errors=0.9).event(16, 4).per_sample == pytest.approx(1.03)


@pytest.mark.parametrize(
    "g",
    [
        np.full(SIZE, 0.5),
        np.array([2.0 + 1e-9, 0, 0, 0, 0, 0]),
        np.array([np.nan, 0, 0, 0, 0, 0]),
        np.array([np.inf, 0, 0, 0, 0, 0]),
        np.zeros(SIZE - 1),
        np.zeros((1, SIZE)),
    ],
)
def test_refuses_an_unclipped_average(g: Array) -> None:
    """And asks for no noise, so nothing is lost or told."""
    spy = Spy()
    with pytest.raises(InvalidInput, match="6 numbers with an L1 norm of at most 2, found"):
        sanitized(sanitizer(), summary(g=g), np.zeros(SIZE), spy)
    assert spy.scales == []


@pytest.mark.parametrize("clip", [0.0, -1.0, math.inf, math.nan])
def test_refuses_clip(clip: float) -> None:
    with pytest.raises(InvalidInput, match=f"positive and finite, found {clip}"):
        Sanitizer(Epsilon(1.0, 1.0, 1.0), clip=clip, size=SIZE)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((0.0, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found 0. Use inf for no noise"),
        ((-1.0, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found -1. Use inf"),
        ((math.nan, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found nan. Use inf"),
        ((-math.inf, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found -inf. Use inf"),
        ((9.9e-7, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found 9.9e-07. Use inf"),
        ((1.01e6, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found 1.01e+06. Use inf"),
        ((1e308, 1.0, 1.0), "the gradient must lie in 1e-06 … 1e+06, found 1e+308. Use inf"),
        ((1.0, 0.0, 1.0), "the errors must lie in 1e-06 … 1e+06, found 0. Use inf"),
        ((1.0, 5e-324, 1.0), "the errors must lie in 1e-06 … 1e+06, found 4.94066e-324. Use inf"),
        ((1.0, 1e308, 1.0), "the errors must lie in 1e-06 … 1e+06, found 1e+308. Use inf"),
        ((1.0, 1.0, -0.1), "the labels must lie in 1e-06 … 1e+06, found -0.1. Use inf"),
        ((1.0, 1.0, 1e-7), "the labels must lie in 1e-06 … 1e+06, found 1e-07. Use inf"),
        ((1.0, 1.0, math.nan), "the labels must lie in 1e-06 … 1e+06, found nan. Use inf"),
        ((1.0, 1.0, 1e308), "the labels must lie in 1e-06 … 1e+06, found 1e+308. Use inf"),
    ],
)
def test_refuses_epsilon(levels: tuple[float, float, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^epsilon for {re.escape(message)}"):
        Epsilon(*levels)


@pytest.mark.parametrize("level", [1e-6, 1e6, math.inf])
@pytest.mark.parametrize("labels", [0.0, 1e-6, 1e6, math.inf])
def test_takes_epsilon_at_the_ends(level: float, labels: float) -> None:
    """And works there: honest noise of a seeded generator, within what the wire carries."""
    door = Sanitizer(Epsilon(level, level, labels), clip=2.0, size=SIZE)
    out = sanitized(door, summary(), np.zeros(SIZE), Pseudo())
    assert np.abs(out.gradient).max() <= door.plausible_gradient(20) <= 2**31 - 1
    excess = door.plausible_excess
    assert abs(out.n_errors) <= 3 + excess[0] < 2**31
    assert np.abs(out.n_labels).max(initial=0) <= 8 + excess[1] < 2**31


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 5.0])
@pytest.mark.parametrize("n", [1, 20])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_honest_gradient_is_plausible(epsilon: float, n: int, decay: float) -> None:
    """Even the extreme one: all of S in one number and λR on top, refused with chance 10⁻⁹."""
    door = Sanitizer(Epsilon(epsilon, 1.0, 1.0), 2.0, SIZE, regularization=decay, radius=100.0)
    spy = Spy()
    g = np.array([2.0, 0, 0, 0, 0, 0])
    extreme = sanitized(door, summary(n, g=g), np.array([100.0, 0, 0, 0, 0, 0]), spy)
    room = door.plausible_gradient(n) - int(extreme.gradient.max())
    p = math.exp(-1.0 / spy.scales[0])
    refused = SIZE * 2.0 * math.exp(-(room + 1) / spy.scales[0]) / (1.0 + p)
    assert refused <= 1e-9
    # And not much more room than that: a poisoned gradient gains little.
    assert refused > 1e-9 / 1.01


@pytest.mark.parametrize("levels", [(0.7, 0.3, 0.13), (0.1, 0.05, 0.05), (5.0, 2.0, 2.0)])
def test_honest_counts_are_plausible(levels: tuple[float, float, float]) -> None:
    errors, labels = Sanitizer(Epsilon(*levels), 2.0, SIZE).plausible_excess
    assert law.tail(errors, 1 / levels[1]) <= 1e-9
    assert 1000 * law.tail(labels, 2 / levels[2]) <= 1e-9
    assert law.tail(errors - 1, 1 / levels[1]) > 1e-9
    assert errors < 10**9
    assert labels < 10**9


def test_without_noise_there_is_no_excess() -> None:
    door = sanitizer(math.inf, math.inf, 0.0)
    assert door.plausible_excess == (0, 0)
    assert door.plausible_gradient(20) <= 2**29 + 2


TASK = Task.from_toml(
    """
    name = "t"
    title = "t"
    objective = ""
    sensors = ""
    features.count = 2
    target.labels = ["a", "b", "c"]
    model.kind = "softmax"
    privacy.epsilon = 1.0
    collection = {batch = 20, buffer = 40}
    """
)


def gated(**changes: object) -> None:
    terms = TASK.terms
    grid = terms.sanitizer().grid(20)
    fields: dict[str, object] = {
        "id": "a" * 20, "version": 0, "terms": terms_hash(terms.text), "samples": 20,
        "heldout": 0, "errors": 3, "labels": (5, 7, 8), "grid": grid,
        "gradient": encode_gradient(np.zeros(6, dtype=np.int64)),
    }  # fmt: skip
    checkin = Checkin(**{**fields, **changes})  # type: ignore[arg-type]
    Gate(terms, terms_hash(terms.text)).check(checkin)


def test_gate_takes_an_honest_device() -> None:
    gated()
    excess = TASK.terms.sanitizer().plausible_excess
    gated(errors=-excess[0], labels=(-excess[1], 20 + excess[1], 0))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"errors": -(10**9)}, "errors"),
        ({"errors": 10**9}, "errors"),
        ({"labels": (0, -(10**9), 0)}, "labels"),
        ({"labels": (0, 0, 10**9)}, "labels"),
        ({"gradient": encode_gradient(np.array([0, 0, 0, 0, 0, -(10**9)]))}, "gradient"),
        ({"gradient": encode_gradient(np.array([0, 0, -(2**31), 0, 0, 0]))}, "gradient"),
        ({"gradient": encode_gradient(np.array([2**31 - 1, 0, 0, 0, 0, 0]))}, "gradient"),
    ],
)
def test_gate_refuses_the_implausible(change: dict[str, object], name: str) -> None:
    with pytest.raises(Rejected, match=f"{name} must lie in") as refusal:
        gated(**change)
    assert refusal.value.kind == "implausible"


def test_the_noise_is_that_of_the_event() -> None:
    """What the ledger approved is what is spent, whatever the sanitizer's own levels are."""
    spy, approved = Spy(), sanitizer(gradient=0.1, errors=0.2, labels=0.3).event(20, 0)
    sanitizer().sanitize(summary(), np.zeros(SIZE), approved, spy)
    assert spy.scales == [
        laplace_scale(release.sensitivity, release.epsilon) for release in approved.releases
    ]


@pytest.mark.parametrize("event", [(19, 0), (21, 0), (20, 1), (16, 4)])
def test_an_event_of_another_minibatch_is_refused(event: tuple[int, int]) -> None:
    spy, door = Spy(), sanitizer()
    with pytest.raises(InvalidInput, match="the minibatch's own 20 \\+ 0 samples"):
        door.sanitize(summary(), np.zeros(SIZE), door.event(*event), spy)
    assert spy.scales == []
