"""Test one number of k: it hides any samples, is read without bias, and is hard to abuse."""

import math
import re
from contextlib import nullcontext
from fractions import Fraction
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.checks.mechanisms import AlikeSamples
from crowdml.errors import InvalidInput
from crowdml.privacy import (
    ALL_TRAIN,
    CheckinEstimates,
    CheckinKey,
    Choice,
    Codebook,
    DirectionEvent,
    DirectionMechanism,
    DirectionPayload,
    Implausible,
    NoiseEvent,
    Role,
    Roles,
    Unit,
    best_closest,
    role_of,
)
from crowdml.privacy.choice import COIN
from crowdml.privacy.direction import codebook
from crowdml.privacy.direction.channel import FIELDS, PROBABILITY_STEPS
from crowdml.types import Array
from tests.privacy.seeded_chance import SeededChance

TERMS = "5e" * 32
EACH = Roles(evaluators=0.3, counters=0.3)
NO_COUNTERS = Roles(evaluators=0.5)
RESPONSES = (Role.EVALUATE, Role.COUNT)
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)


def mechanism(epsilon: float = 1.3, k: int = 16, **more: Any) -> DirectionMechanism:
    n_classes = more.get("n_classes", 3)
    roles = EACH if n_classes else NO_COUNTERS
    fields = {"size": 6, "n_classes": n_classes, "batch": 5, "roles": roles} | more
    return DirectionMechanism(epsilon, k, best_closest(k, epsilon), **fields)


def place(made: DirectionMechanism, role: Role = Role.TRAIN, number: int = 1) -> CheckinKey:
    places = (CheckinKey(TERMS, f"device-{i}", number) for i in range(10**6))
    return next(each for each in places if made.roles.role_of(each) is role)


def responses(made: DirectionMechanism, role: Role) -> int:
    """Count the numbers that a check-in of this role can send, from the role's definition."""
    return 2 if role is Role.EVALUATE else made.n_classes


def samples(
    g: Array, n: int = 5, label: int = 0, wrong: bool = False, classes: int = 3
) -> AlikeSamples:
    return AlikeSamples(g, np.zeros(len(g)), n, label, wrong, classes)


class Script:
    """Return a prescribed coin and prescribed results for all other draws."""

    def __init__(
        self, coin: int, choice: int, turn: int = PROBABILITY_STEPS - 1, sample: int = 0
    ) -> None:
        self._coin, self._choice, self._turn, self._sample = coin, choice, turn, sample
        self.asked: list[int] = []

    def below(self, n: int) -> int:
        before, self.asked = self.asked, [*self.asked, n]
        if n == COIN:
            return self._coin
        if COIN in before:
            return self._choice
        return self._turn if n == PROBABILITY_STEPS else self._sample

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a direction is sent without {name}.")


def payload_of(
    made: DirectionMechanism, minibatch: AlikeSamples, where: CheckinKey, chance: Any
) -> DirectionPayload:
    return made.make_payload(minibatch, made.event(minibatch.n_samples, where), where, chance)


def number(payload: DirectionPayload) -> int:
    (found,) = (n for n in (payload.direction, payload.wrong, payload.answer) if n is not None)
    return found


def sent(role: Role, value: int) -> DirectionPayload:
    return DirectionPayload(1, **{FIELDS[role]: value})


def law(
    made: DirectionMechanism, minibatch: AlikeSamples, where: CheckinKey, **more: int
) -> list[Fraction]:
    """Compute each number's probability from all outcomes of the coin and the uniform choices."""
    role = made.roles.role_of(where)
    trains = role is Role.TRAIN
    k, t = (made.directions, made.closest) if trains else (responses(made, role), 1)
    coin = made.choice_of(role).coin
    law = [Fraction(0)] * k
    for falls, n, share in ((coin - 1, t, coin), (coin, k - t, COIN - coin)):
        for i in range(n):
            payload = payload_of(made, minibatch, where, Script(falls, i, **more))
            law[number(payload)] += Fraction(share, COIN * n)
    return law


# Privacy


@settings(deadline=None, max_examples=100)
@given(
    g=hnp.arrays(np.float64, 6, elements=ANYTHING),
    w=hnp.arrays(np.float64, 6, elements=st.floats(width=32, allow_nan=False)),
    device=st.text(max_size=5),
    turn=st.sampled_from([0, PROBABILITY_STEPS // 3, PROBABILITY_STEPS - 1]),
    wrong=st.booleans(),
    label=st.integers(0, 2),
)
def test_every_number_has_one_of_two_probabilities(
    g: Array, w: Array, device: str, turn: int, wrong: bool, label: int
) -> None:
    """Check the law for any samples, parameters and codebook: this is the whole proof."""
    made, where = mechanism(regularization=0.1), CheckinKey(TERMS, device, 1)
    minibatch = AlikeSamples(g, w, 5, label, wrong, 3)
    numbers = {Role.TRAIN: (16, made.closest), Role.EVALUATE: (2, 1), Role.COUNT: (3, 1)}
    k, t = numbers[made.roles.role_of(where)]
    with np.errstate(all="ignore"):
        found = law(made, minibatch, where, turn=turn)
    assert sum(found) == 1
    often, seldom = max(found), min(found)
    assert set(found) == {often, seldom}
    assert found.count(often) == t
    assert found.count(seldom) == k - t
    assert math.log(often / seldom) <= 1.3
    assert math.log(often / seldom) == pytest.approx(1.3, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.3, 4.0])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("role", RESPONSES)
def test_the_truth_has_the_probability_of_randomised_response(
    role: Role, n_classes: int, epsilon: float
) -> None:
    """Check for e^ε/(e^ε + k − 1) for the truth and 1/(e^ε + k − 1) for each other number."""
    made = mechanism(epsilon, n_classes=n_classes)
    where, k = place(made, role), responses(made, role)
    for truth in range(k):
        about = {"label": truth} if role is Role.COUNT else {"wrong": bool(truth)}
        found = law(made, samples(np.zeros(6), classes=n_classes, **about), where)
        weights = np.where(np.arange(k) == truth, math.exp(epsilon), 1.0)
        assert [float(p) for p in found] == pytest.approx(weights / weights.sum(), rel=1e-12)


def test_an_evaluation_says_nothing_about_the_label() -> None:
    """Check that evaluations ignore the label, and answers the prediction: the laws are equal."""
    made = mechanism()
    evaluates, counts = (place(made, role) for role in RESPONSES)
    for wrong in (False, True):
        laws = [law(made, samples(np.zeros(6), label=k, wrong=wrong), evaluates) for k in range(3)]
        assert laws[0] == laws[1] == laws[2]
        assert laws[0].index(max(laws[0])) == wrong
    for label in range(3):
        right, wrong_too = (
            law(made, samples(np.zeros(6), label=label, wrong=wrong), counts)
            for wrong in (False, True)
        )
        assert right == wrong_too
        assert right.index(max(right)) == label


def test_a_real_target_is_within_the_tolerance_or_not() -> None:
    made = mechanism(n_classes=0)
    where = place(made, Role.EVALUATE)
    assert made.choice_of(Role.EVALUATE).k == 2
    for wrong in (False, True):
        found = law(made, samples(np.zeros(6), wrong=wrong, classes=0), where)
        assert found.index(max(found)) == wrong


LABELS, MISTAKES = (0, 1, 2, 2, 1), (False, True, False, True, True)


class Mixed(AlikeSamples):
    """Hold five samples that differ in their labels and in whether their prediction is right."""

    @property
    def labels(self) -> Any:
        return np.array(LABELS if self.n_classes else [], dtype=np.int64)

    def mistakes(self) -> Any:
        return np.array(MISTAKES)


def mixed(n_classes: int = 3) -> Mixed:
    return Mixed(np.zeros(6), np.zeros(6), 5, 0, False, n_classes)


@pytest.mark.parametrize(
    ("role", "truths"), [(Role.EVALUATE, MISTAKES), (Role.COUNT, LABELS)], ids=RESPONSES
)
def test_which_sample_is_used_is_drawn(role: Role, truths: tuple[int, ...]) -> None:
    made = mechanism()
    where = place(made, role)
    for i, truth in enumerate(truths):
        chance = Script(0, 0, sample=i)
        assert payload_of(made, mixed(), where, chance) == sent(role, int(truth))
        assert chance.asked == [5, COIN, 1]


def test_a_direction_is_near_the_gradient() -> None:
    """Compare with the codebook's own inner products, for a gradient longer than S."""
    made = mechanism(k=256)
    where, g = place(made), np.linspace(-1, 2, 6)
    found = law(made, samples(g), where)
    scores = Codebook(6, where).scores(g, 256)
    often = [j for j in range(256) if found[j] == max(found)]
    assert scores[often].min() >= np.sort(scores)[-made.closest]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0, 7.0])
def test_how_often_a_short_gradient_is_turned_round(share: float) -> None:
    """Check the probability (1 − ‖u‖/S)/2.

    It is one half for a gradient of zero, and zero from a length of S on.
    """
    made = mechanism(k=64)
    where = place(made)
    g = share * made.length * np.array([0.6, 0, 0, -0.8, 0, 0]) + 1e-12 * np.ones(6)
    often = math.ceil((1 - min(1.0, share)) / 2 * PROBABILITY_STEPS)
    near, far = (
        {j for j, p in enumerate(each) if p == max(each)}
        for each in (
            law(made, samples(sign * g), where, turn=PROBABILITY_STEPS - 1) for sign in (1.0, -1.0)
        )
    )
    slack = int(1e-9 * PROBABILITY_STEPS)
    if often > slack:
        turned = law(made, samples(g), where, turn=often - slack)
        assert {j for j, p in enumerate(turned) if p == max(turned)} == far
    if often + slack < PROBABILITY_STEPS:
        straight = law(made, samples(g), where, turn=often + slack)
        assert {j for j, p in enumerate(straight) if p == max(straight)} == near


def test_the_decay_is_part_of_the_gradient() -> None:
    w = np.linspace(-1, 2, 6)
    plain, decayed = mechanism(k=64), mechanism(k=64, regularization=0.5)
    where = place(plain)
    minibatch = AlikeSamples(np.zeros(6), w, 5, 0, False, 3)
    assert law(decayed, minibatch, where) == law(plain, samples(0.5 * w), where)


@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
def test_how_likely_a_direction_was(share: float) -> None:
    """Compare with the law of every draw, for a gradient turned round or not."""
    made = mechanism(k=32)
    where = place(made)
    minibatch = samples(share * made.length * np.array([0.6, 0, 0, -0.8, 0, 0]))
    turned = (1 - min(1.0, share)) / 2
    here, there = (law(made, minibatch, where, turn=turn) for turn in (PROBABILITY_STEPS - 1, 0))
    for j in range(32):
        expected = (1 - turned) * float(here[j]) + turned * float(there[j])
        found = made.probability(DirectionPayload(1, direction=j), minibatch, where)
        assert found == pytest.approx(expected if share else (here[j] + there[j]) / 2)


@pytest.mark.parametrize(
    ("role", "n_classes"), [(Role.EVALUATE, 0), (Role.EVALUATE, 3), (Role.COUNT, 3)]
)
def test_how_likely_a_response_was(role: Role, n_classes: int) -> None:
    made = mechanism(n_classes=n_classes)
    where, minibatch = place(made, role), mixed(n_classes)
    laws = [law(made, minibatch, where, sample=i) for i in range(5)]
    for value in range(responses(made, role)):
        found = made.probability(sent(role, value), minibatch, where)
        assert found == pytest.approx(float(sum(each[value] for each in laws) / 5))


def test_nothing_is_clipped() -> None:
    class Asked(AlikeSamples):
        def mean_gradient(self, rows: Any, clip: float, norm: int) -> Array:
            assert rows.all()
            assert (clip, norm) == (math.inf, 2)
            return self.g

    made = mechanism()
    minibatch = Asked(np.ones(6), np.zeros(6), 5, 0, False, 3)
    payload_of(made, minibatch, place(made), SeededChance())


# Events, roles and numbers


@pytest.mark.parametrize("role", Role)
def test_cost_is_for_the_whole_checkin(role: Role) -> None:
    made = mechanism(epsilon=0.5, checkins=3)
    event = made.event(999, place(made, role, number=2))
    assert event == DirectionEvent(2, role, 0.5)
    assert (event.unit, made.unit) == (Unit.CHECKIN, Unit.CHECKIN)


def test_an_event_of_another_checkin_is_rejected() -> None:
    made = mechanism(checkins=5)
    where = place(made, number=2)
    own = made.event(5, where)
    chance = Script(0, 0)
    for change in ({"number": 1}, {"number": 3}, {"epsilon": 1.2999}):
        with pytest.raises(InvalidInput, match=r"for check-in 2 with ε = 1\.3, found Direction"):
            made.make_payload(
                samples(np.ones(6)), msgspec.structs.replace(own, **change), where, chance
            )
    noise = NoiseEvent(5, 0, ())
    with pytest.raises(InvalidInput, match=r"for check-in 2 with ε = 1\.3, found NoiseEvent"):
        made.make_payload(samples(np.ones(6)), noise, where, chance)
    assert chance.asked == []
    made.make_payload(samples(np.ones(6)), own, where, chance)


def test_the_event_decides_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that spending an event does not draw the role again.

    The ledger approved the event with its role.
    """
    made = mechanism()
    events = [made.event(5, place(made, role)) for role in Role]
    places = [place(made, role) for role in Role]
    monkeypatch.delattr(Roles, "role_of")
    for event, where in zip(events, places, strict=True):
        payload = made.make_payload(samples(np.ones(6)), event, where, SeededChance())
        assert role_of(payload) is event.role


@pytest.mark.parametrize(
    "fields",
    [each for n in range(4) for each in combinations(FIELDS.values(), n)],
    ids=str,
)
def test_one_number_and_nothing_else_is_sent(fields: tuple[str, ...]) -> None:
    """Check that the server rejects any other set of fields in every role.

    The error says which field is right.
    """
    made, payload = mechanism(), DirectionPayload(1, **dict.fromkeys(fields, 0))
    for role in Role:
        where = place(made, role)
        if fields == (FIELDS[role],):
            made.check(payload, where)
            continue
        found = " and ".join(f"`{field}`" for field in fields) or "nothing"
        must = f"must {role} and carry `{FIELDS[role]}` alone, found {found}."
        with pytest.raises(Implausible, match=re.escape(must)) as rejection:
            made.check(payload, where)
        assert rejection.value.kind == "wrong-role"


def test_the_role_does_not_depend_on_the_samples() -> None:
    made = mechanism()
    for i in range(50):
        where = CheckinKey(TERMS, f"device-{i}", 1)
        for minibatch in (samples(np.zeros(6)), samples(np.full(6, 1e9), n=77, wrong=True)):
            payload = payload_of(made, minibatch, where, SeededChance())
            fields = [name for name in FIELDS.values() if getattr(payload, name) is not None]
            assert fields == [FIELDS[made.roles.role_of(where)]]
            assert payload.number == 1


def test_no_more_checkins_than_agreed() -> None:
    made = mechanism(checkins=3)
    for n in (1, 2, 3):
        where = place(made, number=n)
        made.check(payload_of(made, samples(np.ones(6)), where, SeededChance()), where)
    where = place(made, number=4)
    with pytest.raises(InvalidInput, match="must lie in 1 … 3, found 4"):
        payload_of(made, samples(np.ones(6)), where, SeededChance())
    with pytest.raises(Implausible, match="at most 3, found 4") as rejection:
        made.check(DirectionPayload(4, direction=0), where)
    assert rejection.value.kind == "too-many-checkins"


@pytest.mark.parametrize(
    ("role", "largest"), [(Role.TRAIN, 15), (Role.EVALUATE, 1), (Role.COUNT, 2)]
)
def test_the_range_of_a_number(role: Role, largest: int) -> None:
    made = mechanism()
    where = place(made, role)
    for value in (0, largest):
        made.check(sent(role, value), where)
    with pytest.raises(Implausible) as rejection:
        made.check(sent(role, largest + 1), where)
    assert rejection.value.kind == "implausible"


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"epsilon": 41.0}, {"closest": 16}])
def test_rejected_at_once(change: dict[str, Any]) -> None:
    fields = {"epsilon": 1.0, "directions": 16, "closest": 3, "size": 6} | change
    with pytest.raises(InvalidInput):
        DirectionMechanism(**fields)


def test_counters_need_answers_to_count() -> None:
    with pytest.raises(InvalidInput, match=r"counters must be 0 where a number .*, found 0\.3"):
        mechanism(n_classes=0, roles=EACH)


# Reading


def expected_reading(made: DirectionMechanism, role: Role, truth: int) -> tuple[Array, Array]:
    """Return the mean and the variance of (errors, labels …), summed over every number."""
    where = place(made, role)
    about = {"label": truth} if role is Role.COUNT else {"wrong": bool(truth)}
    minibatch = samples(np.zeros(6), classes=made.n_classes, **about)
    probabilities = np.array([float(p) for p in law(made, minibatch, where)])
    readings = [made.read(sent(role, n), where) for n in range(responses(made, role))]
    values = np.array([[reading.errors, *reading.labels] for reading in readings])
    mean = probabilities @ values
    return mean, probabilities @ (values - mean) ** 2


@pytest.mark.parametrize("epsilon", [0.3, 1.3, 4.0])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 10])
def test_responses_are_read_without_bias(epsilon: float, n_classes: int) -> None:
    """Check means and the stated variances, with nothing random."""
    made = mechanism(epsilon, n_classes=n_classes)
    for wrong in (0, 1):
        mean, variance = expected_reading(made, Role.EVALUATE, wrong)
        assert mean == pytest.approx([wrong])
        assert variance == pytest.approx([made.error_variance])
    largest = 0.0
    for label in range(n_classes):
        mean, variance = expected_reading(made, Role.COUNT, label)
        assert mean == pytest.approx([0.0, *np.eye(n_classes)[label]], abs=1e-12)
        largest = max(largest, *variance[1:])
    assert made.label_variance == pytest.approx(largest)


@pytest.mark.parametrize(
    ("epsilon", "n_classes", "expected", "with_the_label"),
    [
        (1.0, 3, 0.92, 4.8),
        (1.0, 40, 0.92, 565),
        (4.0, 40, 0.019, 1.3),
    ],
)
def test_the_variance_of_an_error_report(
    epsilon: float, n_classes: int, expected: float, with_the_label: float
) -> None:
    """Check that the variance is e^ε/(e^ε − 1)² for every C.

    One number of 2C, which would carry the label too, has a larger variance.
    """
    both = Choice(2 * n_classes, 1, epsilon)
    seldom = n_classes * both.unlikely
    carried = seldom * (1 - seldom) / (both.likely - both.unlikely) ** 2
    assert carried == pytest.approx(with_the_label, rel=0.03)
    made = mechanism(epsilon, n_classes=n_classes)
    exact = math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
    assert made.error_variance == pytest.approx(exact, rel=1e-9)
    assert made.error_variance == pytest.approx(expected, rel=0.01)
    for wrong in (0, 1):
        _, variance = expected_reading(made, Role.EVALUATE, wrong)
        assert variance[0] == pytest.approx(exact, rel=1e-9)


def test_the_law_of_reported_errors() -> None:
    """Check the mean and the variance of how many of n people send "wrong", from the exact law."""
    made = mechanism(1.3)
    where = place(made, Role.EVALUATE)
    right, wrong = (
        float(law(made, samples(np.zeros(6), wrong=w), where)[1]) for w in (False, True)
    )
    for error in (0.0, 0.2, 1.0):
        says_wrong = (1 - error) * right + error * wrong
        found = made.error_count_law(error, 50)
        assert found.mean == pytest.approx(50 * says_wrong)
        assert found.noise + found.sampling == pytest.approx(50 * says_wrong * (1 - says_wrong))
        assert found.noise == pytest.approx(50 * right * (1 - right)), "where no truth is unsure"


def test_what_a_reading_counts() -> None:
    """Check that each role changes only its own sums."""
    made = mechanism()
    evaluated = made.read(DirectionPayload(1, wrong=1), place(made, Role.EVALUATE))
    assert evaluated == CheckinEstimates(evaluated=1, errors=evaluated.errors, reported_errors=1)
    counted = made.read(DirectionPayload(1, answer=2), place(made, Role.COUNT))
    assert counted == CheckinEstimates(labels=counted.labels, labelled=1)
    assert len(counted.labels) == 3
    assert sum(counted.labels) == pytest.approx(1.0)
    trained = made.read(DirectionPayload(1, direction=3), place(made))
    assert trained == CheckinEstimates(g=trained.g)


def readings(made: DirectionMechanism, g: Array, n: int) -> Array:
    """Read the gradients of n devices that have this gradient, with a fixed seed."""
    chance, found = SeededChance(), []
    for i in range(n):
        where = CheckinKey(TERMS, f"device-{i}", 1)
        payload = payload_of(made, samples(g), where, chance)
        reading = made.read(payload, where)
        assert reading.g is not None
        found.append(reading.g)
    return np.array(found)


@pytest.mark.parametrize(
    ("epsilon", "k", "a"),
    [(1.0, 1024, 6.34), (4.0, 1024, 0.437), (4.0, 256, 0.442), (10.0, 1024, 0.104)],
)
@pytest.mark.parametrize("length", [0.4, 3.0])
def test_directions_are_read_without_bias(epsilon: float, k: int, a: float, length: float) -> None:
    """Check the mean for the direction and for a length up to S, with a fixed seed.

    A mean of n lies about S·√(a/n) off along each direction, and 5 of these deviations are allowed,
    with 2 % of S for codewords that are only nearly normal.
    """
    n, d = 3000, 50
    made = mechanism(epsilon, k, size=d, roles=ALL_TRAIN, scale=2.0)
    assert made.length == pytest.approx(0.3 * 2.0 / 5)
    u = np.random.default_rng(4).normal(size=d)
    u /= np.linalg.norm(u)
    found = readings(made, length * made.length * u, n) / made.length
    wanted = min(1.0, length)
    room = 5 * math.sqrt(max(a, 1.0) / n) + 0.02
    assert found.mean(axis=0) @ u == pytest.approx(wanted, abs=room)
    # Over every direction together: d such deviations, and the rest is noise.
    left = found.mean(axis=0) - wanted * u
    assert np.linalg.norm(left) == pytest.approx(math.sqrt(a * d / n), rel=0.35)
    # E‖ĝ‖² = a·d·S², and up to 10·a·S² more because the chosen codeword is long.
    energy = (found**2).sum(axis=1).mean()
    assert a * d * 0.97 < energy < a * (d + 10) * 1.03
    assert made.noise_energy == pytest.approx(a * d * made.length**2, rel=5e-3)


@pytest.mark.parametrize("epsilon", [4.0, 10.0])
def test_an_attacker_pushes_little_harder(epsilon: float) -> None:
    """Check that an attacker pushes at most 3.25/m times as far as an honest device, for k = 1024.

    The attacker may send any number. The average is over the codebooks, which the attacker cannot
    choose: 400 fixed ones, so that this is a computation. The mean of 400 is usually at most 0.02/m
    off; 0.05/m is allowed.
    """
    d = 99
    made = mechanism(epsilon, 1024, size=d, roles=ALL_TRAIN)
    m = made.choice.pull
    assert made.choice.leverage * m == pytest.approx(3.25, abs=0.005)
    dense = np.random.default_rng(5).normal(size=d)
    for aim in (dense / np.linalg.norm(dense), np.eye(d)[7]):
        places = [CheckinKey(TERMS, f"device-{i}", 1) for i in range(400)]
        best = [Codebook(d, where).scores(aim, 1024).argmax() for where in places]
        pushes = [
            made.read(DirectionPayload(1, direction=int(j)), where).g @ aim
            for where, j in zip(places, best, strict=True)
        ]
        # An honest device pushes S in the direction of its gradient, on average.
        assert np.mean(pushes) / made.length <= (3.25 + 0.05) / m
    honest = readings(made, 3.0 * made.length * aim, 2000) @ aim
    assert honest.mean() / made.length == pytest.approx(1.0, abs=0.15)


def test_no_direction_is_longer_than_the_bound() -> None:
    """Check the bound for every direction.

    It holds in any codebook, because the ones in a byte less 4 lie in −4 … 4.
    """
    made = mechanism(4.0, 1024, size=40)
    where = place(made)
    longest = max(
        float(np.abs(made.read(DirectionPayload(1, direction=j), where).g).max())  # type: ignore[arg-type]
        for j in range(1024)
    )
    assert longest <= 4 / math.sqrt(2) * made.length / made.choice.pull * (1 + 1e-12)


def test_a_codebook_belongs_to_a_place() -> None:
    """Check that a device decides nothing but the number."""
    made = mechanism(k=1024)
    payload = DirectionPayload(1, direction=5)
    found = {
        tuple(made.read(payload, where).g.tolist())  # type: ignore[union-attr]
        for where in (
            CheckinKey(TERMS, "a", 1),
            CheckinKey(TERMS, "a", 2),
            CheckinKey(TERMS, "b", 1),
            CheckinKey("", "a", 1),
        )
    }
    assert len(found) == 4


def test_many_are_read_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that group reading is the same bit for bit, however many directions fit into memory.

    The fold must not depend on groups.
    """
    made = mechanism()
    places = [CheckinKey(TERMS, f"device-{i}", 1) for i in range(40)]
    roles = [made.roles.role_of(place) for place in places]
    assert set(roles) == set(Role)
    payloads = [sent(role, i % made.choice_of(role).k) for i, role in enumerate(roles)]
    alone = [made.read(payload, place) for payload, place in zip(payloads, places, strict=True)]
    for rows in (1, 7, 1000):
        monkeypatch.setattr(codebook, "CHUNK_NUMBERS", rows * made.size)
        together = list(made.read_all(payloads, places))
        assert len(together) == len(alone)
        for one, other in zip(together, alone, strict=True):
            assert one[1:] == other[1:]
            assert (one.g is None) == (other.g is None)
            assert one.g is None or one.g.tobytes() == other.g.tobytes()  # type: ignore[union-attr]


def test_the_closest_come_first() -> None:
    """Compare with a plain sort; each part is in order, and a tie goes to the lowest number."""
    rng = np.random.default_rng(4)
    for k, closest in ((16, 1), (16, 15), (1024, 1), (1024, 67)):
        made = DirectionMechanism(1.0, k, closest, size=6)
        for _ in range(5):
            scores = rng.integers(-9, 10, size=k).astype(np.float64)
            best = sorted(range(k), key=lambda j: -scores[j])[:closest]
            others = set(range(k)) - set(best)
            assert made._ranked(scores).tolist() == sorted(best) + sorted(others)


def test_a_huge_gradient_is_a_direction_like_any_other() -> None:
    made, g = mechanism(), np.arange(1.0, 7.0)
    where = place(made)
    usual, huge = (made._scores(samples(factor * g), where)[0] for factor in (1.0, 1e100))
    assert np.allclose(usual, huge)


@pytest.mark.parametrize(
    ("document", "valid"),
    [({"direction": 0}, 1), ({"direction": 100_000}, 1), ({"direction": 100_001}, 0),
     ({"direction": -1}, 0), ({"number": 0}, 0), ({"number": None}, 0)],
)  # fmt: skip
def test_the_range_of_a_number_on_the_wire(document: dict[str, Any], valid: int) -> None:
    with nullcontext() if valid else pytest.raises(msgspec.ValidationError):
        msgspec.convert({"number": 1} | document, DirectionPayload)


def test_what_is_known_beforehand() -> None:
    made = mechanism(k=1001, scale=5.0)
    assert made.length == pytest.approx(0.3 * 5 / 5)
    assert [mechanism(k=k).private_bytes for k in (1000, 1001)] == [3, 4]
    assert made.operations == 1001 * 6
    assert made.truth_probability == {role: made.choice_of(role).p for role in Role}
    trains = mechanism(roles=Roles())
    assert list(trains.truth_probability) == [Role.TRAIN]
    assert (made.evaluates, made.counts_labels, trains.evaluates, trains.counts_labels) == (
        1,
        1,
        0,
        0,
    )
    explicit: dict[str, Any] = {
        "n_classes": 0,
        "batch": 1,
        "checkins": 1,
        "scale": 1.0,
        "regularization": 0.0,
    }
    assert DirectionMechanism(1.0, 8, 3, 6) == DirectionMechanism(1.0, 8, 3, 6, **explicit)
