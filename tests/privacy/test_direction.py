"""One number of k: hidden whatever the samples are, read without bias, and hard to abuse."""

import math
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.checks.mechanisms import Alike
from crowdml.errors import InvalidInput
from crowdml.privacy import (
    Codebook,
    Directed,
    DirectionEvent,
    DirectionMechanism,
    Implausible,
    Place,
    Reading,
    Unit,
    best_closest,
    codebook,
)
from crowdml.privacy.choice import COIN
from crowdml.privacy.direction import FINE
from crowdml.types import Array
from tests.privacy.pseudo import Pseudo

TERMS = "5e" * 32
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)


def mechanism(epsilon: float = 1.3, k: int = 16, **more: Any) -> DirectionMechanism:
    fields = {"size": 6, "n_classes": 3, "batch": 5} | more
    return DirectionMechanism(epsilon, k, best_closest(k, epsilon), **fields)


def place(door: DirectionMechanism, evaluates: bool, number: int = 1) -> Place:
    places = (Place(TERMS, f"device-{i}", number) for i in range(10**6))
    return next(each for each in places if door.evaluates(each) == evaluates)


def samples(g: Array, n: int = 5, label: int = 0, wrong: bool = False, classes: int = 3) -> Alike:
    return Alike(g, np.zeros(len(g)), n, label, wrong, classes)


class Script:
    """Chance that is told how the coin falls, and what comes out of everything else."""

    def __init__(self, coin: int, choice: int, turn: int = FINE - 1, sample: int = 0) -> None:
        self._coin, self._choice, self._turn, self._sample = coin, choice, turn, sample
        self.asked: list[int] = []

    def below(self, n: int) -> int:
        before, self.asked = self.asked, [*self.asked, n]
        if n == COIN:
            return self._coin
        if COIN in before:
            return self._choice
        return self._turn if n == FINE else self._sample

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a direction is told without {name}.")


def tell(door: DirectionMechanism, minibatch: Alike, where: Place, chance: Any) -> Directed:
    return door.tell(minibatch, door.event(minibatch.n_samples, where), where, chance)


def number(told: Directed) -> int:
    (found,) = (n for n in (told.direction, told.report) if n is not None)
    return found


def law(door: DirectionMechanism, minibatch: Alike, where: Place, **more: int) -> list[Fraction]:
    """The probability of each number, from every outcome of the coin and the uniform choices."""
    k, t = (door.reports, 1) if door.evaluates(where) else (door.directions, door.closest)
    coin = (door._evaluating if door.evaluates(where) else door.choice).coin
    law = [Fraction(0)] * k
    for falls, n, share in ((coin - 1, t, coin), (coin, k - t, COIN - coin)):
        for i in range(n):
            told = tell(door, minibatch, where, Script(falls, i, **more))
            law[number(told)] += Fraction(share, COIN * n)
    return law


# Privacy


@settings(deadline=None, max_examples=100)
@given(
    g=hnp.arrays(np.float64, 6, elements=ANYTHING),
    w=hnp.arrays(np.float64, 6, elements=st.floats(width=32, allow_nan=False)),
    device=st.text(max_size=5),
    turn=st.sampled_from([0, FINE // 3, FINE - 1]),
    wrong=st.booleans(),
    label=st.integers(0, 2),
)
def test_every_number_has_one_of_two_probabilities(
    g: Array, w: Array, device: str, turn: int, wrong: bool, label: int
) -> None:
    """Whatever the samples, the parameters and the codebook are: this is the whole proof."""
    door, where = mechanism(regularization=0.1), Place(TERMS, device, 1)
    minibatch = Alike(g, w, 5, label, wrong, 3)
    k, t = (6, 1) if door.evaluates(where) else (16, door.closest)
    with np.errstate(all="ignore"):
        found = law(door, minibatch, where, turn=turn)
    assert sum(found) == 1
    often, seldom = max(found), min(found)
    assert set(found) == {often, seldom}
    assert found.count(often) == t
    assert found.count(seldom) == k - t
    assert math.log(often / seldom) <= 1.3
    assert math.log(often / seldom) == pytest.approx(1.3, abs=1e-12)


def test_a_report_is_the_label_and_whether_it_was_wrong() -> None:
    door = mechanism()
    where = place(door, evaluates=True)
    for label in range(3):
        for wrong in (False, True):
            found = law(door, samples(np.zeros(6), label=label, wrong=wrong), where)
            assert found.index(max(found)) == 2 * label + wrong


def test_a_real_target_is_reported_as_within_the_tolerance_or_not() -> None:
    door = mechanism(n_classes=0)
    where = place(door, evaluates=True)
    assert door.reports == 2
    for wrong in (False, True):
        found = law(door, samples(np.zeros(6), wrong=wrong, classes=0), where)
        assert found.index(max(found)) == wrong


def test_which_sample_is_reported_is_drawn() -> None:
    door = mechanism()
    where = place(door, evaluates=True)

    class Two(Alike):
        @property
        def labels(self) -> Any:
            return np.array([0, 1, 2, 2, 1])

    minibatch = Two(np.zeros(6), np.zeros(6), 5, 0, False, 3)
    for i, label in enumerate((0, 1, 2, 2, 1)):
        chance = Script(0, 0, sample=i)
        assert tell(door, minibatch, where, chance).report == 2 * label
        assert chance.asked == [5, COIN, 1]


def test_a_direction_is_near_the_gradient() -> None:
    """The best by the codebook's own inner products, for a gradient longer than S."""
    door = mechanism(k=256)
    where, g = place(door, evaluates=False), np.linspace(-1, 2, 6)
    found = law(door, samples(g), where)
    scores = Codebook(6, *where).scores(g, 256)
    often = [j for j in range(256) if found[j] == max(found)]
    assert scores[often].min() >= np.sort(scores)[-door.closest]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0, 7.0])
def test_a_short_gradient_is_turned_round_so_often(share: float) -> None:
    """With probability (1 − ‖u‖/S)/2: half the time for none at all, never from S on."""
    door = mechanism(k=64)
    where = place(door, evaluates=False)
    g = share * door.length * np.array([0.6, 0, 0, -0.8, 0, 0]) + 1e-12 * np.ones(6)
    often = math.ceil((1 - min(1.0, share)) / 2 * FINE)
    near, far = (
        {j for j, p in enumerate(each) if p == max(each)}
        for each in (law(door, samples(sign * g), where, turn=FINE - 1) for sign in (1.0, -1.0))
    )
    slack = int(1e-9 * FINE)
    if often > slack:
        turned = law(door, samples(g), where, turn=often - slack)
        assert {j for j, p in enumerate(turned) if p == max(turned)} == far
    if often + slack < FINE:
        straight = law(door, samples(g), where, turn=often + slack)
        assert {j for j, p in enumerate(straight) if p == max(straight)} == near


def test_the_decay_is_part_of_the_gradient() -> None:
    w = np.linspace(-1, 2, 6)
    plain, decayed = mechanism(k=64), mechanism(k=64, regularization=0.5)
    where = place(plain, evaluates=False)
    minibatch = Alike(np.zeros(6), w, 5, 0, False, 3)
    assert law(decayed, minibatch, where) == law(plain, samples(0.5 * w), where)


@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
def test_how_likely_a_direction_was(share: float) -> None:
    """Against the law of every draw, for a gradient turned round or not."""
    door = mechanism(k=32)
    where = place(door, evaluates=False)
    minibatch = samples(share * door.length * np.array([0.6, 0, 0, -0.8, 0, 0]))
    turned = (1 - min(1.0, share)) / 2
    here, there = (law(door, minibatch, where, turn=turn) for turn in (FINE - 1, 0))
    for j in range(32):
        expected = (1 - turned) * float(here[j]) + turned * float(there[j])
        found = door.probability(Directed(1, direction=j), minibatch, where)
        assert found == pytest.approx(expected if share else (here[j] + there[j]) / 2)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_how_likely_a_report_was(n_classes: int) -> None:
    door = mechanism(n_classes=n_classes)
    where = place(door, evaluates=True)

    class Mixed(Alike):
        @property
        def labels(self) -> Any:
            return np.array([0, 1, 2, 2, 1]) if n_classes else np.zeros(0, dtype=np.int64)

        def mistakes(self) -> Any:
            return np.array([False, True, False, True, True])

    minibatch = Mixed(np.zeros(6), np.zeros(6), 5, 0, False, n_classes)
    laws = [law(door, minibatch, where, sample=i) for i in range(5)]
    for report in range(door.reports):
        found = door.probability(Directed(1, report=report), minibatch, where)
        assert found == pytest.approx(float(sum(each[report] for each in laws) / 5))


def test_nothing_is_clipped() -> None:
    class Asked(Alike):
        def mean_gradient(self, rows: Any, clip: float, norm: int) -> Array:
            assert rows.all()
            assert (clip, norm) == (math.inf, 2)
            return self.g

    door = mechanism()
    minibatch = Asked(np.ones(6), np.zeros(6), 5, 0, False, 3)
    tell(door, minibatch, place(door, evaluates=False), Pseudo())


# Events, roles and numbers


def test_cost_is_for_the_whole_checkin() -> None:
    door = mechanism(epsilon=0.5, checkins=3)
    for evaluates, what in ((False, "direction"), (True, "report")):
        where = place(door, evaluates, number=2)
        event = door.event(999, where)
        assert event == DirectionEvent(2, what, 0.5)
        assert (event.unit, door.unit) == (Unit.CHECKIN, Unit.CHECKIN)


def test_an_event_of_another_checkin_is_refused() -> None:
    door = mechanism(checkins=5)
    where = place(door, evaluates=False, number=2)
    own = door.event(5, where)
    chance = Script(0, 0)
    for change in ({"number": 1}, {"number": 3}, {"what": "report"}, {"epsilon": 1.2999}):
        other = DirectionEvent(**({"number": 2, "what": "direction", "epsilon": 1.3} | change))  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"the check-in's own, .*, found DirectionEvent"):
            door.tell(samples(np.ones(6)), other, where, chance)
    assert chance.asked == []
    door.tell(samples(np.ones(6)), own, where, chance)


def test_roles_are_public_and_nobodys_choice() -> None:
    """A hash of the place against the share: the same for the server, and fixed for ever."""
    door = mechanism(evaluators=0.2, checkins=9)
    names = [f"device-{i}" for i in range(20_000)]
    roles = [door.evaluates(Place(TERMS, name, 1)) for name in names]
    assert np.mean(roles) == pytest.approx(0.2, abs=0.01)
    for other in ([Place(TERMS, name, 2) for name in names], [Place("", n, 1) for n in names]):
        agree = np.mean([door.evaluates(each) for each in other] == np.array(roles))
        assert agree == pytest.approx(0.2**2 + 0.8**2, abs=0.02)
    assert [name for name, role in zip(names, roles, strict=True) if role][:3] == [
        "device-0",
        "device-9",
        "device-17",
    ]
    assert not any(mechanism(evaluators=0.0).evaluates(Place(TERMS, n, 1)) for n in names)


def test_the_role_does_not_depend_on_the_samples() -> None:
    door = mechanism(evaluators=0.5)
    for i in range(50):
        where = Place(TERMS, f"device-{i}", 1)
        for minibatch in (samples(np.zeros(6)), samples(np.full(6, 1e9), n=77, wrong=True)):
            told = tell(door, minibatch, where, Pseudo())
            assert (told.report is not None) == door.evaluates(where)
            assert (told.direction is None) == door.evaluates(where)
            assert told.number == 1


def test_no_more_checkins_than_agreed() -> None:
    door = mechanism(checkins=3)
    for n in (1, 2, 3):
        where = place(door, evaluates=False, number=n)
        door.check(tell(door, samples(np.ones(6)), where, Pseudo()), where)
    where = place(door, evaluates=False, number=4)
    with pytest.raises(InvalidInput, match="must lie in 1 … 3, found 4"):
        tell(door, samples(np.ones(6)), where, Pseudo())
    with pytest.raises(Implausible, match="at most 3, found 4") as refusal:
        door.check(Directed(4, direction=0), where)
    assert refusal.value.kind == "too-many-checkins"


@pytest.mark.parametrize(
    ("evaluates", "told", "kind"),
    [
        (False, Directed(1, direction=0), None),
        (False, Directed(1, direction=15), None),
        (False, Directed(1, direction=16), "implausible"),
        (False, Directed(1, report=0), "wrong-role"),
        (False, Directed(1, direction=0, report=0), "wrong-role"),
        (False, Directed(1), "wrong-role"),
        (True, Directed(1, report=0), None),
        (True, Directed(1, report=5), None),
        (True, Directed(1, report=6), "implausible"),
        (True, Directed(1, direction=0), "wrong-role"),
        (True, Directed(1, direction=0, report=0), "wrong-role"),
        (True, Directed(1), "wrong-role"),
    ],
)
def test_the_gate(evaluates: bool, told: Directed, kind: str | None) -> None:
    door = mechanism()
    where = place(door, evaluates)
    if kind is None:
        door.check(told, where)
        return
    with pytest.raises(Implausible) as refusal:
        door.check(told, where)
    assert refusal.value.kind == kind


@pytest.mark.parametrize("body", ['{"number":0}', '{"number":1,"direction":-1}', "{}"])
def test_what_has_not_even_the_type(body: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Directed)


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"epsilon": 41.0}, {"closest": 16}])
def test_refused_at_once(change: dict[str, Any]) -> None:
    fields = {"epsilon": 1.0, "directions": 16, "closest": 3, "size": 6} | change
    with pytest.raises(InvalidInput):
        DirectionMechanism(**fields)


# Reading


def expected_reading(door: DirectionMechanism, truth: int) -> tuple[Array, Array]:
    """The mean and the variance of (errors, labels …), summed over every report."""
    where = place(door, evaluates=True)
    label, wrong = divmod(truth, 2)
    minibatch = samples(np.zeros(6), label=label, wrong=bool(wrong), classes=door.n_classes)
    chances = np.array([float(p) for p in law(door, minibatch, where)])
    readings = [door.read(Directed(1, report=r), where) for r in range(door.reports)]
    values = np.array([[reading.errors, *reading.labels] for reading in readings])
    mean = chances @ values
    return mean, chances @ (values - mean) ** 2


@pytest.mark.parametrize("epsilon", [0.3, 1.3, 4.0])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 10])
def test_reports_are_read_without_bias(epsilon: float, n_classes: int) -> None:
    """With the variances that are said beforehand; nothing here is left to chance."""
    door = mechanism(epsilon, n_classes=n_classes)
    largest = 0.0
    for truth in range(door.reports):
        label, wrong = divmod(truth, 2)
        mean, variance = expected_reading(door, truth)
        assert mean == pytest.approx([wrong, *np.eye(n_classes)[label]] if n_classes else [wrong])
        assert variance[0] == pytest.approx(door.error_variance)
        largest = max(largest, *variance[1:], 0.0)
    assert door.label_variance == pytest.approx(largest)


def test_what_a_reading_counts() -> None:
    door = mechanism()
    report = door.read(Directed(1, report=3), place(door, evaluates=True))
    assert (report.g, report.evaluated, report.labelled) == (None, 1, 1)
    trained = door.read(Directed(1, direction=3), place(door, evaluates=False))
    assert trained == Reading(g=trained.g)
    real = mechanism(n_classes=0)
    report = real.read(Directed(1, report=1), place(real, evaluates=True))
    assert (report.labels, report.labelled) == ((), 0)


def readings(door: DirectionMechanism, g: Array, n: int) -> Array:
    """What is read from n devices with this gradient; seeded, so the same every time."""
    chance, found = Pseudo(), []
    for i in range(n):
        where = Place(TERMS, f"device-{i}", 1)
        told = tell(door, samples(g), where, chance)
        reading = door.read(told, where)
        assert reading.g is not None
        found.append(reading.g)
    return np.array(found)


@pytest.mark.parametrize(
    ("epsilon", "k", "a"),
    [(1.0, 1024, 6.34), (4.0, 1024, 0.437), (4.0, 256, 0.442), (10.0, 1024, 0.104)],
)
@pytest.mark.parametrize("length", [0.4, 3.0])
def test_directions_are_read_without_bias(epsilon: float, k: int, a: float, length: float) -> None:
    """For the direction and for a length up to S; seeded, so that luck has no part in it.

    A mean of n lies about S·√(a/n) off along each direction, and 5 of them are allowed, with
    2 % of S for codewords that are only nearly normal.
    """
    n, d = 3000, 50
    door = mechanism(epsilon, k, size=d, evaluators=0.0, scale=2.0)
    assert door.length == pytest.approx(0.3 * 2.0 / 5)
    u = np.random.default_rng(4).normal(size=d)
    u /= np.linalg.norm(u)
    found = readings(door, length * door.length * u, n) / door.length
    wanted = min(1.0, length)
    room = 5 * math.sqrt(max(a, 1.0) / n) + 0.02
    assert found.mean(axis=0) @ u == pytest.approx(wanted, abs=room)
    # To all sides at once: d such deviations, and what is left of them is noise.
    left = found.mean(axis=0) - wanted * u
    assert np.linalg.norm(left) == pytest.approx(math.sqrt(a * d / n), rel=0.35)
    # E‖ĝ‖² = a·d·S², and up to 10·a·S² more because the chosen one is long.
    energy = (found**2).sum(axis=1).mean()
    assert a * d * 0.97 < energy < a * (d + 10) * 1.03
    assert door.noise_energy == pytest.approx(a * d * door.length**2, rel=5e-3)


@pytest.mark.parametrize("epsilon", [4.0, 10.0])
def test_an_attacker_pushes_little_harder(epsilon: float) -> None:
    """At most 3.25/m times as far as an honest device, whatever it sends, for k = 1024.

    On average over the codebooks, of which it chooses none: 400 fixed ones, so that this is a
    computation. The mean of so many lies 0.02/m off at most of times; 0.05/m is allowed.
    """
    d = 99
    door = mechanism(epsilon, 1024, size=d, evaluators=0.0)
    m = door.choice.pull
    assert door.leverage * m == pytest.approx(3.25, abs=0.005)
    dense = np.random.default_rng(5).normal(size=d)
    for aim in (dense / np.linalg.norm(dense), np.eye(d)[7]):
        best = [Codebook(d, TERMS, f"device-{i}", 1).scores(aim, 1024).argmax() for i in range(400)]
        pushes = [
            door.read(Directed(1, direction=int(j)), Place(TERMS, f"device-{i}", 1)).g @ aim
            for i, j in enumerate(best)
        ]
        # An honest device pushes S in the direction of its gradient, on average.
        assert np.mean(pushes) / door.length <= (3.25 + 0.05) / m
    honest = readings(door, 3.0 * door.length * aim, 2000) @ aim
    assert honest.mean() / door.length == pytest.approx(1.0, abs=0.15)


def test_no_direction_is_longer_than_this() -> None:
    """Never, in any codebook: the ones in a byte less 4 lie in −4 … 4."""
    door = mechanism(4.0, 1024, size=40)
    where = place(door, evaluates=False)
    longest = max(
        float(np.abs(door.read(Directed(1, direction=j), where).g).max())  # type: ignore[arg-type]
        for j in range(1024)
    )
    assert longest <= 4 / math.sqrt(2) * door.length / door.choice.pull * (1 + 1e-12)


def test_a_codebook_belongs_to_a_place() -> None:
    """The device's word decides nothing but the number."""
    door = mechanism(k=1024)
    told = Directed(1, direction=5)
    found = {
        tuple(door.read(told, where).g.tolist())  # type: ignore[union-attr]
        for where in (
            Place(TERMS, "a", 1),
            Place(TERMS, "a", 2),
            Place(TERMS, "b", 1),
            Place("", "a", 1),
        )
    }
    assert len(found) == 4


def test_many_are_read_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, however many fit into memory at once: the fold must not depend on groups."""
    door = mechanism(evaluators=0.3)
    places = [Place(TERMS, f"device-{i}", 1) for i in range(40)]
    told = [
        Directed(1, report=i % door.reports)
        if door.evaluates(place)
        else Directed(1, direction=i % 16)
        for i, place in enumerate(places)
    ]
    alone = [door.read(one, place) for one, place in zip(told, places, strict=True)]
    for rows in (1, 7, 1000):
        monkeypatch.setattr(codebook, "CHUNK", rows * door.size)
        together = list(door.read_all(told, places))
        assert len(together) == len(alone)
        for one, other in zip(together, alone, strict=True):
            assert one[1:] == other[1:]
            assert (one.g is None) == (other.g is None)
            assert one.g is None or one.g.tobytes() == other.g.tobytes()  # type: ignore[union-attr]
