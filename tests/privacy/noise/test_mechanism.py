"""Test noise on averages and counts: its scale as really used, its cost, and the output."""

import base64
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    Chance,
    CheckinKey,
    DirectionEvent,
    Implausible,
    Law,
    MinibatchPart,
    NoiseLevels,
    NoiseMechanism,
    NoisePayload,
    Role,
    Unit,
)
from crowdml.types import Array, Ints
from tests.privacy import law as definition
from tests.privacy.given_minibatch import GivenMinibatch
from tests.privacy.recording_chance import RecordingChance
from tests.privacy.seeded_chance import SeededChance

SIZE = 6
PLACE = CheckinKey("00" * 32, "ana", 1)
LEVELS = NoiseLevels(gradient=0.7, errors=0.3, labels=0.13)
LAW = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)


def mechanism(law: Law, levels: NoiseLevels = LEVELS, **more: Any) -> NoiseMechanism:
    delta = 0.0 if law.pure else 1e-6
    fields = {"clip": 2.0, "size": SIZE, "n_classes": 3, "buffer": 60, "delta": delta} | more
    return NoiseMechanism(law, levels, **fields)


def samples(n: int = 20, g: Array | None = None, w: Array | None = None) -> GivenMinibatch:
    return GivenMinibatch(
        g=np.linspace(-0.5, 0.5, SIZE) if g is None else g,
        n_samples=n,
        w=np.zeros(SIZE) if w is None else w,
        labels=np.resize(np.repeat([0, 1, 2], [5, 7, 8]), n),
    )


def payload_of(made: NoiseMechanism, given: GivenMinibatch, chance: Chance) -> NoisePayload:
    return made.make_payload(given, made.event(given.n_samples, PLACE), PLACE, chance)


def integers(message: NoisePayload) -> Ints:
    return np.frombuffer(message.gradient, dtype="<i4").astype(np.int64)


def steps(law: Law, n_training: int, grid: int, size: int = SIZE) -> int:
    """Return ⌈2S/(nq)⌉ + d for Laplace, or + ⌈√d⌉ for Gauss."""
    rounding = size if law is LAPLACE else math.ceil(math.sqrt(size))
    return math.ceil(2 * 2.0 / n_training / 2.0**grid) + rounding


# The noise


@LAW
@pytest.mark.parametrize("heldout", [0.0, 0.2])
@pytest.mark.parametrize("n", [1, 16, 20, 57])
def test_scale_of_the_noise(law: Law, n: int, heldout: float) -> None:
    """Check for Δ/ε or Δ/√(2ρ), with n the number of samples really behind the gradient."""
    spy, made = RecordingChance(), mechanism(law, heldout=heldout)
    out = payload_of(made, samples(n), spy)
    n_training = n - int(heldout * n)
    gradient = steps(law, n_training, out.grid)
    if law is LAPLACE:
        expected = [gradient / 0.7, 1 / 0.3, 2 / 0.13]
    else:
        expected = [gradient / math.sqrt(1.4), 1 / math.sqrt(0.6), math.sqrt(2 / 0.26)]
    assert spy.laws == [law.name] * 3
    assert spy.scales == pytest.approx(expected, rel=1e-14)
    # In units of the gradient, the scale of Eq. (10) is 4/(nε), and ours is hardly more.
    in_units = spy.scales[0] * 2.0**out.grid
    assert 1.0 <= in_units / (4 / (n_training * law.strength(0.7))) < 1.0001


@LAW
def test_each_gradient_is_clipped_in_the_norm_of_the_law(law: Law) -> None:
    given = samples()
    payload_of(mechanism(law), given, RecordingChance())
    ((rows, clip, norm),) = given.asked
    assert rows.all()
    assert (clip, norm) == (2.0, {"laplace": 1, "gaussian": 2}[law.name])


@LAW
def test_heldout_samples(law: Law) -> None:
    """Check that randomly held-out samples count errors and do not train."""
    spy, given, made = RecordingChance(), samples(20), mechanism(law, heldout=0.25)
    given.wrong = np.arange(20) % 2 == 0
    out = payload_of(made, given, spy)
    ((rows, _, _),) = given.asked
    assert spy.below_asked == [20, 19, 18, 17, 16]
    # The spy always draws the first remaining sample.
    assert rows.tolist() == [False] * 5 + [True] * 15
    assert (out.samples, out.heldout, out.errors) == (20, 5, 3)
    assert [v.tolist() for v in spy.values[1:]] == [[3], [5, 7, 8]]


@LAW
@pytest.mark.parametrize("n", [1, 20, 57])
def test_noise_falls_on_the_rounded_secret(law: Law, n: int) -> None:
    spy, made = RecordingChance(), mechanism(law, regularization=0.01, radius=50.0)
    given = samples(n, w=np.full(SIZE, 5.0))
    out = payload_of(made, given, spy)
    rounded = np.rint(given.g * 2.0**-out.grid)
    labels = np.bincount(given.labels, minlength=3).tolist()
    assert [v.tolist() for v in spy.values] == [rounded.tolist(), [min(n, 3)], labels]
    decay = round(0.05 * 2.0**-out.grid)
    assert integers(out).tolist() == (rounded + decay).tolist()
    assert (out.errors, list(out.labels)) == (min(n, 3), labels)


@LAW
def test_nothing_random_touches_the_decay(law: Law) -> None:
    """Check that λw is added without noise, because λw is public.

    Under the same noise, the outputs for two parameters differ by exactly λw.
    """
    made = mechanism(law, regularization=0.25, radius=4.0)
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
    plain, decayed = (payload_of(made, samples(w=at), SeededChance()) for at in (0 * w, w))
    difference = (integers(decayed) - integers(plain)) * 2.0**plain.grid
    assert difference.tolist() == (0.25 * w).tolist()


@LAW
@pytest.mark.parametrize("far", [4.5, 1e6, 1e30, float(np.finfo(np.float32).max), 1e300])
@pytest.mark.parametrize("decay", [0.25, 1e6])
def test_decay_stays_within_the_radius(law: Law, far: float, decay: float) -> None:
    """Check that λw is cut to λR without overflow, because a server may send any w."""
    made = mechanism(law, regularization=decay, radius=4.0)
    w = far * np.array([1.0, -1.0, 1.0, -1.0, 0.0, 1.0])
    plain, decayed = (payload_of(made, samples(w=at), RecordingChance()) for at in (0 * w, w))
    assert decayed.grid == plain.grid
    most = round(decay * 4.0 * 2.0**-plain.grid)
    moved = integers(decayed) - integers(plain)
    assert moved.tolist() == [most, -most, most, -most, 0, most]
    assert np.abs(integers(decayed)).max() <= 2**29 + 1


@LAW
def test_no_decay_without_regularization(law: Law) -> None:
    far = np.full(SIZE, 1e308)
    plain, same = (
        payload_of(mechanism(law), samples(w=w), RecordingChance()) for w in (0 * far, far)
    )
    assert same.gradient == plain.gradient


@LAW
def test_infinite_levels_add_no_noise(law: Law) -> None:
    spy, made = RecordingChance(), mechanism(law, NoiseLevels(math.inf, math.inf, math.inf))
    given = samples()
    out = payload_of(made, given, spy)
    assert spy.asked == 0
    assert np.allclose(integers(out) * 2.0**out.grid, given.g, atol=2.0**-28)
    assert (out.errors, out.labels) == (3, (5, 7, 8))
    assert made.event(20).loss.total == math.inf
    assert (made.noise_energy, made.error_variance, made.label_variance) == (0.0, 0.0, 0.0)
    assert made.plausible_excess == (0, 0)
    assert made.plausible_gradient(20) <= 2**29 + 2


@LAW
def test_a_real_target_has_no_labels(law: Law) -> None:
    spy, made = RecordingChance(), mechanism(law, LEVELS._replace(labels=0.0), n_classes=0)
    given = samples()
    given.labels = np.zeros(0, dtype=np.int64)
    out = payload_of(made, given, spy)
    assert len(spy.scales) == 2
    assert out.labels == ()
    assert [release.what for release in made.event(20).releases] == ["gradient", "errors"]
    assert made.label_variance == 0.0
    made.check(out, PLACE)


@LAW
@pytest.mark.parametrize("noise", [2**40, -(2**40)])
def test_extreme_noise_stays_in_int32(law: Law, noise: int) -> None:
    class Extreme(RecordingChance):
        def _add(self, law: str, values: Ints, scale: float) -> Ints:
            return np.asarray(values + noise)

    out = payload_of(mechanism(law), samples(), Extreme())
    assert np.abs(integers(out)).tolist() == [2**31 - 1] * SIZE
    assert [abs(count) for count in (out.errors, *out.labels)] == [2**31 - 1] * 4
    assert msgspec.json.decode(msgspec.json.encode(out), type=NoisePayload) == out


# What it costs


@LAW
def test_counts_have_their_share_of_the_cost(law: Law) -> None:
    assert mechanism(law).counts_share == pytest.approx((0.3 + 0.13) / (0.7 + 0.3 + 0.13))
    assert mechanism(law, heldout=0.2).counts_share == 1


@LAW
@pytest.mark.parametrize(
    ("heldout", "cost"), [(0.0, 0.7 + 0.3 + 0.13), (0.2, max(0.7, 0.3) + 0.13)]
)
def test_cost(law: Law, heldout: float, cost: float) -> None:
    made = mechanism(law, heldout=heldout)
    event, n_heldout = made.event(20), int(20 * heldout)
    loss = event.loss
    assert (event.unit, made.unit) == (Unit.SAMPLE, Unit.SAMPLE)
    assert (loss.epsilon if law.pure else loss.rho) == pytest.approx(cost, rel=1e-15)
    assert (event.n_training, event.n_heldout) == (20 - n_heldout, n_heldout)
    assert {r.what: (r.part, r.sensitivity, r.level) for r in event.releases} == {
        "gradient": (
            MinibatchPart.TRAINING,
            steps(law, event.n_training, made.grid(event.n_training)),
            0.7,
        ),
        "errors": (MinibatchPart.HELDOUT if n_heldout else MinibatchPart.TRAINING, 1, 0.3),
        "labels": (MinibatchPart.ALL, law.two_bins(), 0.13),
    }


@LAW
def test_dear_errors_on_heldout_samples(law: Law) -> None:
    event = mechanism(law, NoiseLevels(0.2, 0.9, 0.13), heldout=0.2).event(20)
    assert max(event.loss.epsilon, event.loss.rho) == pytest.approx(1.03)


def others(law: Law) -> Iterator[object]:
    made = mechanism(law)
    yield from (made.event(19), made.event(21), mechanism(law, heldout=0.1).event(20))
    yield mechanism(law, LEVELS._replace(gradient=0.1)).event(20)
    yield mechanism(law, LEVELS._replace(errors=0.2)).event(20)
    yield mechanism(law, clip=1.5).event(20)
    yield mechanism(law, size=1).event(20)
    yield mechanism(GAUSSIAN if law is LAPLACE else LAPLACE).event(20)
    yield DirectionEvent(1, Role.TRAIN, 0.7)


@LAW
def test_an_event_of_another_checkin_is_rejected(law: Law) -> None:
    """Check that another event is rejected before anything is drawn.

    This holds even for an event that costs more: its sensitivity is in steps of another grid.
    """
    made = mechanism(law)
    for other in others(law):
        spy = RecordingChance()
        with pytest.raises(InvalidInput, match="an event must be the check-in's own"):
            made.make_payload(samples(), other, PLACE, spy)  # type: ignore[arg-type]
        assert spy.asked == 0


# Rejected input


@LAW
@pytest.mark.parametrize(
    "g",
    [
        np.full(SIZE, 1.0),
        np.array([2.0 + 1e-9, 0, 0, 0, 0, 0]),
        np.array([np.nan, 0, 0, 0, 0, 0]),
        np.array([np.inf, 0, 0, 0, 0, 0]),
        np.zeros(SIZE - 1),
    ],
)
def test_rejects_an_unclipped_average(law: Law, g: Array) -> None:
    """Check that a rejected average requests no noise, so nothing is charged or sent."""
    spy = RecordingChance()
    sentence = f"6 numbers with an L{law.norm} norm of at most 2, found"
    with pytest.raises(InvalidInput, match=sentence):
        payload_of(mechanism(law), samples(g=g), spy)
    assert spy.scales == []


def test_the_norm_of_the_average_is_the_laws() -> None:
    """Check six halves, which have a length of 3 in L1, and of 1.2 in L2."""
    g = np.full(SIZE, 0.5)
    payload_of(mechanism(GAUSSIAN), samples(g=g), RecordingChance())
    with pytest.raises(InvalidInput, match="found 6 with 3"):
        payload_of(mechanism(LAPLACE), samples(g=g), RecordingChance())


@LAW
@pytest.mark.parametrize("clip", [0.0, -1.0, math.inf, math.nan])
def test_rejects_clip(law: Law, clip: float) -> None:
    with pytest.raises(InvalidInput, match=f"positive and finite, found {clip}"):
        mechanism(law, clip=clip)


@LAW
@pytest.mark.parametrize("what", NoiseLevels._fields)
@pytest.mark.parametrize("level", [0.0, -1.0, math.nan, -math.inf, 5e-324, 9.9e-10, 1.01e6, 1e308])
def test_rejects_levels(law: Law, what: str, level: float) -> None:
    must = f"the level for the {what} must lie in 1e-09 … 1e+06, found {level:g}. Use inf for no"
    with pytest.raises(InvalidInput, match=f"^{re.escape(must)}"):
        mechanism(law, LEVELS._replace(**{what: level}))


@pytest.mark.parametrize(
    ("law", "delta"), [(LAPLACE, 1e-6), (GAUSSIAN, 0.0), (GAUSSIAN, -1e-6), (GAUSSIAN, 1.0)]
)
def test_rejects_delta(law: Law, delta: float) -> None:
    """Check that Gaussian noise needs a δ.

    Without a δ, ρ would be charged as a pure ε.
    """
    with pytest.raises(InvalidInput, match=f"for {law.name} noise, found {delta:g}"):
        mechanism(law, delta=delta)


# What the server computes from a check-in


@LAW
@pytest.mark.parametrize("level", [1e-9, 1e-6, 0.7, 1e6, math.inf])
def test_levels_at_the_ends(law: Law, level: float) -> None:
    """Check that honest noise at extreme levels fits the message.

    The noise comes from a seeded generator.
    """
    made = mechanism(law, NoiseLevels(level, level, level))
    out = payload_of(made, samples(), SeededChance())
    assert msgspec.json.decode(msgspec.json.encode(out), type=NoisePayload) == out
    made.check(out, PLACE)
    assert max(made.plausible_gradient(20), *made.plausible_excess) <= 2**31 - 1
    assert len(msgspec.json.encode(out)) <= made.largest_payload


@LAW
@pytest.mark.parametrize("level", [0.05, 0.7, 5.0])
@pytest.mark.parametrize("n", [1, 20])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_honest_gradient_is_plausible(law: Law, level: float, n: int, decay: float) -> None:
    """Check that even an extreme honest gradient is rejected with probability 10⁻⁹ at most.

    It has all of S in one number and λR on top.
    """
    made = mechanism(law, LEVELS._replace(gradient=level), regularization=decay, radius=100.0)
    spy, one = RecordingChance(), np.eye(SIZE)[0]
    extreme = payload_of(made, samples(n, g=2.0 * one, w=100.0 * one), spy)
    room = made.plausible_gradient(n) - int(integers(extreme).max())
    scale = spy.scales[0]
    if law is LAPLACE:
        rejected = SIZE * 2 * math.exp(-(room + 1) / scale) / (1 + math.exp(-1 / scale))
        # There is not much more room than needed: a poisoned gradient gains little.
        assert rejected > 1e-9 / 1.01
    else:
        rejected = SIZE * math.erfc(room / scale / math.sqrt(2))
        assert rejected > 1e-9 / 20
    assert rejected <= 1e-9


@LAW
@pytest.mark.parametrize(
    "levels", [LEVELS, NoiseLevels(0.1, 0.05, 0.05), NoiseLevels(5.0, 2.0, 2.0)]
)
def test_honest_counts_are_plausible(law: Law, levels: NoiseLevels) -> None:
    errors, labels = mechanism(law, levels).plausible_excess
    scales = 1 / law.strength(levels.errors), law.two_bins() / law.strength(levels.labels)
    assert definition.tail(errors, scales[0], law.norm) <= 1e-9
    assert 1000 * definition.tail(labels, scales[1], law.norm) <= 1e-9
    # There is not much more room than needed.
    assert definition.tail(int(0.85 * errors) - 1, scales[0], law.norm) > 1e-9


def honest(made: NoiseMechanism) -> NoisePayload:
    return NoisePayload(20, 0, 3, (5, 7, 8), made.grid(20), np.zeros(SIZE, dtype="<i4").tobytes())


@LAW
def test_takes_an_honest_device(law: Law) -> None:
    made = mechanism(law)
    made.check(honest(made), PLACE)
    errors, labels = made.plausible_excess
    most = made.plausible_gradient(20)
    ends = np.array([-most, most, 0, 0, 0, 0], dtype="<i4").tobytes()
    for extreme in (
        {"errors": -errors, "labels": (-labels, 20 + labels, 0)},
        {"errors": 20 + errors, "gradient": ends},
    ):
        made.check(msgspec.structs.replace(honest(made), **extreme), PLACE)


def gradient(*values: int) -> bytes:
    return np.array([*values, *[0] * (SIZE - len(values))], dtype="<i4").tobytes()


@LAW
@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ({"gradient": gradient(-(2**31))}, "implausible", "gradient must lie in"),
        ({"gradient": gradient(2**31 - 1)}, "implausible", "gradient must lie in"),
        ({"samples": 14}, "too-few-samples", "at least 15, found 14"),
        ({"samples": 61}, "too-many-samples", "at most 60, found 61"),
        ({"heldout": 1}, "wrong-heldout", "heldout must be 0 of 20 samples, found 1"),
        ({"labels": (1, 2)}, "wrong-size", "labels must be 3 counts, found 2"),
        ({"labels": ()}, "wrong-size", "labels must be 3 counts, found 0"),
        ({"gradient": b"1234"}, "wrong-size", r"6 int32 values \(24 bytes\), found 4 bytes"),
        ({"grid": 0}, "wrong-grid", "for 20 samples, found 0"),
    ],
)
def test_rejects_the_implausible(
    law: Law, change: dict[str, Any], kind: str, sentence: str
) -> None:
    made = mechanism(law, batch=15)
    with pytest.raises(Implausible, match=sentence) as rejection:
        made.check(msgspec.structs.replace(honest(made), **change), PLACE)
    assert rejection.value.kind == kind


@LAW
@pytest.mark.parametrize("heldout", [4, 6])
def test_another_number_of_heldout_samples(law: Law, heldout: int) -> None:
    made = mechanism(law, heldout=0.25)
    other = msgspec.structs.replace(payload_of(made, samples(), SeededChance()), heldout=heldout)
    with pytest.raises(Implausible, match=f"heldout must be 5 of 20 samples, found {heldout}"):
        made.check(other, PLACE)


@LAW
def test_one_beyond_the_bound_is_rejected(law: Law) -> None:
    made = mechanism(law)
    (errors, labels), most = made.plausible_excess, made.plausible_gradient(20)
    for change in (
        {"errors": -errors - 1},
        {"errors": 20 + errors + 1},
        {"labels": (-labels - 1, 0, 0)},
        {"labels": (0, 0, 20 + labels + 1)},
        {"gradient": gradient(0, most + 1)},
        {"gradient": gradient(-most - 1)},
    ):
        (what,) = change
        with pytest.raises(Implausible, match=f"{what} must lie in") as rejection:
            made.check(msgspec.structs.replace(honest(made), **change), PLACE)
        assert rejection.value.kind == "implausible"


@LAW
@pytest.mark.parametrize(("heldout", "evaluated"), [(0.0, 20), (0.25, 5)])
def test_reading(law: Law, heldout: float, evaluated: int) -> None:
    made = mechanism(law, heldout=heldout)
    given = samples()
    estimates = made.read(payload_of(made, given, RecordingChance()), PLACE)
    assert estimates.g is not None
    assert np.abs(estimates.g - given.g).max() <= 2.0 ** (made.grid(20 - int(20 * heldout)) - 1)
    assert (estimates.evaluated, estimates.errors) == (evaluated, 3)
    assert (estimates.labelled, estimates.labels) == (20, (5, 7, 8))
    assert made.length == 2.0


@LAW
def test_what_is_known_of_the_noise_beforehand(law: Law) -> None:
    """Check the noise for b samples.

    The levels are chosen so that variance and deviation differ.
    """
    made, spy = mechanism(law, batch=20), RecordingChance()
    out = payload_of(made, samples(20), spy)
    variances = [law.variance(scale) for scale in spy.scales]
    assert made.noise_energy == pytest.approx(SIZE * variances[0] * 4.0**out.grid)
    assert [made.error_variance, made.label_variance] == pytest.approx(variances[1:])
    assert made.gradient_scale(20) == pytest.approx(spy.scales[0] * 2.0**out.grid)


@LAW
@pytest.mark.parametrize("n", [6, 20])
def test_the_ends_of_what_is_plausible(law: Law, n: int) -> None:
    """Check that the fewest and the most samples are accepted.

    Counts are cut to what is possible.
    """
    made = mechanism(law, batch=6, buffer=20, heldout=0.5)
    honest = payload_of(made, samples(n), SeededChance())
    made.check(honest, PLACE)
    for errors, counted in ((-3, 0), (0, 0), (2, 2), (n // 2, n // 2), (n, n // 2)):
        estimates = made.read(msgspec.structs.replace(honest, errors=errors), PLACE)
        assert (estimates.errors, estimates.reported_errors, estimates.evaluated) == (
            errors,
            counted,
            n // 2,
        )


@LAW
def test_what_is_known_beforehand(law: Law) -> None:
    made = mechanism(law)
    assert made.plausible_excess[0] == law.tail(1 / law.strength(0.3), 1e-9)
    no_labels = mechanism(law, LEVELS._replace(labels=0.0), n_classes=0)
    assert no_labels.plausible_excess[1] == 0
    halved, whole = (mechanism(law, batch=b, heldout=h) for b, h in ((20, 0.5), (10, 0.0)))
    assert halved.noise_energy == whole.noise_energy
    assert [mechanism(law, n_classes=c).counts_labels for c in (1, 3)] == [True, True]
    assert (no_labels.counts_labels, made.evaluates, made.numbers) == (False, True, SIZE + 1 + 3)
    assert made.operations == 100 * made.numbers
    exact = mechanism(law, LEVELS._replace(errors=math.inf))
    assert exact.error_count_law(0.25, 20) == (5, 0, 3.75)
    explicit = mechanism(law, batch=1, buffer=1_000_000, radius=1.0)
    assert NoiseMechanism(law, LEVELS, 2.0, SIZE, 3, delta=made.delta) == explicit


@pytest.mark.parametrize("size", [1, 5, 6, 7])
def test_how_many_bytes_are_sent(size: int) -> None:
    """Count base64, with a buffer of two digits and the longest counts."""
    encoded = len(base64.b64encode(bytes(4 * size)))
    assert mechanism(LAPLACE, size=size).private_bytes == encoded + 4 * 2
    rooms = []
    for d, c in ((3, 1), (300, 100)):
        longest = NoisePayload(1, 0, 0, (-(2**31 - 1),) * c, 0, bytes(4 * d))
        made = mechanism(LAPLACE, size=d, n_classes=c)
        rooms.append(made.largest_payload - len(msgspec.json.encode(longest)))
    assert rooms[0] == rooms[1] > 300, "the room for everything else does not depend on the size"
