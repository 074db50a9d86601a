"""Test that the audit passes what is right, and finds what is wrong, and where it is wrong."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdml
from crowdml.checks import audit, pairs
from crowdml.checks.audit import (
    Finding,
    audit_mechanism,
    audit_pair,
    audit_person,
    audit_retries,
)
from crowdml.checks.lower_bounds import lower_bound, most_provable, pure
from crowdml.checks.pairs import Pair, opposite_pair, person_pairs, replaced_pairs
from crowdml.checks.programs import (
    LOST,
    AuditedProgram,
    JavaScriptProgram,
    OneFileProgram,
    PythonProgram,
    WholeDevice,
)
from crowdml.device import Outcome
from crowdml.device.exchange import Exchange
from crowdml.device.storage.store import DeviceStore, WrittenCheckin
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.models import linear
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    Chance,
    Choice,
    DirectionEvent,
    DirectionMechanism,
    Ledger,
    NoiseMechanism,
    Role,
    epsilon_of,
    rho_of,
    sensitivity_steps,
)
from crowdml.privacy.choice import COIN
from crowdml.privacy.noise import calibration as noise_calibration
from crowdml.protocol import MECHANISMS
from crowdml.types import Array, Ints
from tests.privacy.recording_chance import RecordingChance
from tests.privacy.seeded_chance import SeededChance

NOISE = pytest.mark.parametrize("name", ["laplace", "gaussian"])
WEB = Path(crowdml.__file__).parent / "web"
PARTS = {Role.TRAIN: "direction", Role.EVALUATE: "evaluate", Role.COUNT: "count"}


def test_every_mechanism_is_audited() -> None:
    with pytest.raises(InvalidInput, match="must be one of direction, gaussian, laplace, found"):
        audit_mechanism("magic")


def test_finding_at_the_claim_passes() -> None:
    assert Finding(claimed=1.0, lower_bound=1.0).passed
    broken = Finding(claimed=1.0, lower_bound=math.nextafter(1.0, 2.0))
    assert broken.broken
    assert not broken.passed


def test_a_claim_that_cannot_fail_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a claim that no trial could break is undecided.

    At ε = 10 a device that always sends the truth looks like a correct one in 6,000 trials.

    In both cases the audit only says how many trials are needed. With that number the truth is
    found, and with one in a hundred fewer it is not.
    """
    for coin in (None, COIN):
        if coin:
            monkeypatch.setattr(Choice, "coin", coin)
        few = found(10.0, Role.EVALUATE, 6000)
        assert few.undecided
        assert not few.passed
        assert not few.broken
        assert few.reach < 10.0
        assert 500_000 < few.needed < 700_000
    claim = found(3.0, Role.EVALUATE, 1000)
    assert claim.broken
    assert found(3.0, Role.EVALUATE, claim.needed).broken
    assert found(3.0, Role.EVALUATE, claim.needed * 99 // 100).undecided


def test_trials_grow_with_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that by default there are enough trials to decide the claim, up to a limit."""
    asked: list[int] = []

    def counted(pair: Pair, trials: int, *rest: Any) -> dict[str, Finding]:
        asked.append(trials)
        return {pair.name: Finding(1.0, 0.5)}

    monkeypatch.setattr(audit, "audit_pair", counted)
    monkeypatch.setattr(audit, "audit_person", lambda pairs, *rest: counted(pairs[0], *rest))
    for epsilon, low, high in ((4.0, 2e5, 2e5), (10.0, 6e5, 2e6), (20.0, 4e6, 4e6)):
        audit_mechanism("direction", epsilon, program=PythonProgram(SeededChance()))
        assert low <= asked[-1] <= high


def test_one_broken_pair_breaks_its_part_and_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, fine = Finding(1.0, 1.5), Finding(1.0, 0.5)
    found = iter([fine, fine, broken, fine])
    monkeypatch.setattr(audit, "audit_pair", lambda pair, *rest: {pair.name: next(found)})
    whole = audit_mechanism("laplace", 1.0, 100, PythonProgram())
    assert whole.parts == {"gradient": fine, "checkin": fine, "heldout": broken}
    assert whole.broken
    assert not whole.passed


def test_the_confidence_is_for_the_whole_audit() -> None:
    """Check that each part may be wrong less often, the more parts there are."""
    (pair,) = noise_of("laplace", "checkin", 1.0)
    a, b = np.ones(300), np.zeros(300)
    proved = lower_bound(a, b, pure, 1e-9 / 5)
    assert proved == pytest.approx(most_provable(300, pure, 1e-9 / 5))
    parts = audit_pair(pair, 600, PythonProgram(SeededChance()))
    assert len(parts) == 5
    assert parts["checkin"].reach == pytest.approx(most_provable(300, pure, 1e-9 / 5))
    whole = audit_mechanism("direction", 1.0, 400, PythonProgram(SeededChance()))
    assert whole.parts["evaluate"].reach == pytest.approx(most_provable(200, pure, 1e-9 / 4 / 2))


@pytest.mark.parametrize("name", MECHANISMS)
def test_progress_ends_at_all(name: str) -> None:
    done: list[float] = []
    audit_mechanism(name, trials=250, program=PythonProgram(SeededChance()), progress=done.append)
    assert done == sorted(done)
    assert len(done) == (12 if name == "direction" else 10)
    assert done[-1] == 1.0


# Directions, evaluations and answers

ROLE = pytest.mark.parametrize("role", Role)
RESPONSE = pytest.mark.parametrize("role", [Role.EVALUATE, Role.COUNT])


def found(
    epsilon: float,
    role: Role,
    trials: int,
    program: AuditedProgram | None = None,
    directions: int = 16,
) -> Finding:
    """Audit one pair with a fixed seed.

    The fewer directions there are, the fewer draws reveal a fault.
    """
    pair = opposite_pair(role, epsilon, directions=directions)
    return audit_pair(pair, trials, program or PythonProgram(SeededChance()))[PARTS[role]]


@ROLE
def test_a_pair_has_its_role(role: Role) -> None:
    pair = opposite_pair(role, 1.0)
    assert pair.terms.collection.roles.role_of(pair.key) is role
    assert pair.event == DirectionEvent(1, role, 1.0)
    assert pair.name == PARTS[role]


def test_directions_pass() -> None:
    """Check that the directions pass.

    False-positive rate 1e-9: `AUDIT_FALSE_ALARM` for the whole audit.

    For a part to prove less than 1.5 of its 3, an event of probability 0.037 must be seen twice as
    often as expected among 1,800: eight deviations, 2e-13.
    """
    whole = audit_mechanism("direction", epsilon=3.0, trials=2000, program=PythonProgram())
    assert whole.passed
    assert (whole.delta, whole.false_alarm) == (0.0, 1e-9)
    assert {part: finding.claimed for part, finding in whole.parts.items()} == {
        "direction": 3.0,
        "evaluate": 3.0,
        "count": 3.0,
        "person": 3.0,
    }
    assert min(whole.parts[part].share for part in PARTS.values()) > 0.5


def test_finds_that_each_check_in_spends_what_is_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = person_pairs("direction", 2.0, directions=16)
    assert [pair.number for pair in pairs] == [1, 2, 3]
    privacy: Any = pairs[0].terms.privacy
    monkeypatch.setattr(Choice, "coin", Choice(16, privacy.closest, 2.0).coin)
    assert audit_person(pairs, 4000, PythonProgram(SeededChance()))["person"].broken


NUMBERS = {Role.EVALUATE: 2, Role.COUNT: 3}
"""The number of values that a check-in of the pairs can send."""


@pytest.mark.parametrize(("role", "percent"), [(Role.EVALUATE, 0.5), (Role.COUNT, 1.0)])
def test_finds_a_coin_that_is_off_by_one_percent(
    role: Role, percent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the audit finds the wrong coin.

    One of two: p = 0.9933, or 0.9983. One of three: p = 0.9867, or 0.9966.
    """
    right = Choice(NUMBERS[role], 1, 5.0).coin
    monkeypatch.setattr(Choice, "coin", right * round(1000 + 10 * percent) // 1000)
    assert found(5.0, role, 16_000).broken


def test_finds_one_too_few_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the coin for t with the choice for t − 1."""

    def choose(self: Choice, order: Ints, chance: Chance) -> int:
        t = self.t - 1
        if chance.below(COIN) < self.coin:
            return int(order[chance.below(t)])
        return int(order[t + chance.below(self.k - t)])

    monkeypatch.setattr(Choice, "choose", choose)
    assert found(2.0, Role.TRAIN, 10_000).broken


def test_finds_one_that_is_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the others one number too late.

    The fault is seen if the two sides do not leave out the same number, as with 24 directions.
    """

    def choose(self: Choice, order: Ints, chance: Chance) -> int:
        if chance.below(COIN) < self.coin:
            return int(order[chance.below(self.t)])
        return int(order[self.t + 1 + chance.below(self.k - self.t - 1)])

    monkeypatch.setattr(Choice, "choose", choose)
    assert found(2.0, Role.TRAIN, 6000, directions=24).broken


class Lopsided(SeededChance):
    """Draw the smallest of three, except for the coin."""

    def below(self, n: int) -> int:
        draws = [super(Lopsided, self).below(n) for _ in range(1 if n > 2**50 else 3)]
        return min(draws)


def test_finds_a_choice_that_is_not_uniform() -> None:
    """Check a role with several other numbers.

    Right or wrong leaves only one other number, so there is nothing to choose.
    """
    assert found(0.5, Role.COUNT, 20_000, PythonProgram(Lopsided())).broken


@pytest.mark.parametrize(
    ("role", "numbers"),
    # The coin for one number more would send the truth less often.
    [(Role.EVALUATE, 1.5), (Role.COUNT, 2)],
    ids=str,
)
def test_finds_the_coin_of_fewer_numbers(
    role: Role, numbers: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the coin for k − 1 numbers in a choice among k, in this role only."""
    right = DirectionMechanism.choice_of

    def wrong(self: DirectionMechanism, asked: Role) -> Choice:
        choice = right(self, asked)
        if asked is role:
            choice = Choice(choice.k, 1, choice.epsilon)
            odds = math.exp(choice.epsilon)
            choice.__dict__["coin"] = int(COIN * odds / (odds + numbers - 1))
        return choice

    monkeypatch.setattr(DirectionMechanism, "choice_of", wrong)
    assert found(2.0, role, 3000).broken
    assert all(found(2.0, other, 1000).passed for other in Role if other is not role)


@RESPONSE
def test_finds_the_truth_sent_too_often(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the truth unchanged one time in two."""
    right = DirectionMechanism._randomized_response

    def respond(truth: int, choice: Choice, chance: Chance) -> int:
        return truth if chance.below(2) == 0 else right(truth, choice, chance)

    monkeypatch.setattr(DirectionMechanism, "_randomized_response", staticmethod(respond))
    assert found(4.0, role, 12_000).broken
    assert found(4.0, Role.TRAIN, 2000).passed


# Noise


def noise_of(name: str, part: str, epsilon: float = 3.0) -> list[Pair]:
    return [pair for pair in replaced_pairs(name, epsilon) if pair.name == part]


def failed(pair: Pair, trials: int, program: AuditedProgram | None = None) -> set[str]:
    """Return the parts for which more is proved than is claimed, with a fixed seed."""
    parts = audit_pair(pair, trials, program or PythonProgram(SeededChance()))
    return {part for part, finding in parts.items() if finding.broken}


def test_exact_noise_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that exact noise passes; for retries, with devices without files.

    False-positive rate 2e-9: `AUDIT_FALSE_ALARM` for each of two laws.

    The audit is strict all the same. For the gradient to prove less than 0.25 of its 2.4, an event
    of probability e⁻²·⁴/2 = 0.05 must be seen in 20 % of 520 trials or more: 15 deviations.
    """
    monkeypatch.setattr(audit, "WholeDevice", PythonProgram)
    laplace = audit_mechanism("laplace", epsilon=3.0, trials=1400)
    assert laplace.passed
    claims = {part: finding.claimed for part, finding in laplace.parts.items()}
    assert claims.pop("gradient") in (pytest.approx(1.8), pytest.approx(2.4))
    counts = {"errors": 0.6, "labels": 0.6}
    whole = dict.fromkeys(("checkin", "heldout", "repeats"), 3.0)
    assert claims == pytest.approx(counts | whole | {"retry": 1.0})
    assert laplace.parts["gradient"].lower_bound > 0.25

    gaussian = audit_mechanism("gaussian", epsilon=3.0, trials=600, program=PythonProgram())
    assert gaussian.passed
    assert gaussian.delta == 1e-6
    rho = rho_of(3.0, 1e-6)
    claims = {part: finding.claimed for part, finding in gaussian.parts.items()}
    assert claims["checkin"] == pytest.approx(3.0)
    assert claims["errors"] == claims["labels"] == pytest.approx(epsilon_of(0.2 * rho, 1e-6))


@pytest.mark.parametrize(
    ("name", "part", "epsilon", "trials", "share"),
    [
        ("laplace", "checkin", 3.0, 5000, 0.5),
        ("laplace", "heldout", 3.0, 4000, 0.65),
        ("gaussian", "checkin", 10.0, 6000, 0.6),
        ("gaussian", "heldout", 20.0, 3000, 0.65),
    ],
)
def test_most_of_the_claim_is_proved_of_whole_checkins(
    name: str, part: str, epsilon: float, trials: int, share: float
) -> None:
    """Audit everything that is sent together, with and without held-out samples, with a fixed seed.

    For Gaussian noise one event proves four fifths at most; with more trials it is above 0.7.
    """
    finding = audit_pair(noise_of(name, part, epsilon)[-1], trials, PythonProgram(SeededChance()))[
        part
    ]
    assert share <= finding.share <= 1.0


class Scaled(SeededChance):
    """Use another scale than was requested."""

    factor = 0.5

    def change(self, scale: float) -> float:
        return scale * self.factor

    def laplace(self, shape: tuple[int, ...], scale: float) -> Ints:
        return super().laplace(shape, self.change(scale))

    def gaussian(self, shape: tuple[int, ...], scale: float) -> Ints:
        return super().gaussian(shape, self.change(scale))


class OffByRootTwo(Scaled):
    factor = math.sqrt(0.5)


class HalvedCounts(Scaled):
    """Halve the noise of the counts only: noise of the gradient is a million steps wide."""

    def change(self, scale: float) -> float:
        return scale if scale > 1000 else scale / 2


class HalvedGradient(Scaled):
    def change(self, scale: float) -> float:
        return scale / 2 if scale > 1000 else scale


@pytest.mark.parametrize(
    ("name", "fault", "wrong"),
    [
        ("laplace", Scaled, {"gradient", "errors", "labels"}),
        ("laplace", HalvedCounts, {"errors", "labels"}),
        ("gaussian", HalvedCounts, {"errors", "labels"}),
        ("gaussian", HalvedGradient, {"gradient"}),
    ],
)
def test_finds_halved_noise(name: str, fault: type[SeededChance], wrong: set[str]) -> None:
    """Check that the audit names the parts with halved noise.

    The whole check-in is left out: it may still be within its claim.
    """
    (pair,) = noise_of(name, "checkin", 4.0 if name == "laplace" else 20.0)
    assert failed(pair, 3000, PythonProgram(fault())) - {"checkin"} == wrong


def test_finds_a_scale_that_is_off_by_root_two() -> None:
    trained, _ = noise_of("laplace", "heldout", 2.0)
    assert "heldout" in failed(trained, 4000, PythonProgram(OffByRootTwo()))


@NOISE
def test_finds_missing_noise_everywhere(name: str) -> None:
    (pair,) = noise_of(name, "checkin")
    everything = {"gradient", "errors", "labels", "checkin", "repeats"}
    assert failed(pair, 2000, PythonProgram(RecordingChance())) == everything


@NOISE
def test_finds_two_for_four_over_n(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use S/n, as if a sample were removed and not replaced."""

    def half(clip: float, n: int, grid: int, rounding: int) -> int:
        return sensitivity_steps(clip / 2, n, grid, rounding)

    monkeypatch.setattr(noise_calibration, "sensitivity_steps", half)
    (pair,) = noise_of(name, "gradient", 4.0)
    assert "gradient" in failed(pair, 2500)


@NOISE
def test_finds_the_divisor_of_the_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use noise for 2S/b where held-out samples leave fewer than b to average."""

    def steps(self: NoiseMechanism, n_training: int) -> int:
        rounding = self.law.rounding(self.size)
        return sensitivity_steps(self.clip, self.batch, self.grid(n_training), rounding)

    monkeypatch.setattr(NoiseMechanism, "_steps", steps)
    trained, _ = noise_of(name, "heldout", 4.0)
    assert "heldout" in failed(trained, 3000)
    (all_used,) = noise_of(name, "gradient", 4.0)
    assert not failed(all_used, 1000)


def as_it_is(x: Any, n_features: int, norm: int) -> Array:
    return np.asarray(x, dtype=float)


def unclipped(norms: Array, clip: float) -> Array:
    """Skip clipping, as if ‖x‖ ≤ 1 and the model's own bound were enough."""
    return np.full(len(norms), clip)


@NOISE
def test_finds_an_unbounded_x(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that long features are shortened, and that gradients are clipped by the real x.

    Each protection is enough alone. With neither, one sample moves the gradient almost three times
    as far.
    """
    (pair,) = noise_of(name, "gradient", 4.0)
    with monkeypatch.context() as patched:
        patched.setattr(pairs, "bound_features", as_it_is)
        assert not failed(pair, 1000)
    monkeypatch.setattr(linear, "clip_factors", unclipped)
    assert not failed(pair, 1000)
    monkeypatch.setattr(pairs, "bound_features", as_it_is)
    assert "gradient" in failed(pair, 1000)


@pytest.mark.parametrize(("law", "right"), [(LAPLACE, 2.0), (GAUSSIAN, math.sqrt(2))])
def test_finds_labels_with_too_little_noise(
    law: Any, right: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a replaced sample moves two bins, and not one."""
    assert law.two_bins() == pytest.approx(right)
    monkeypatch.setattr(type(law), "two_bins", lambda self: right / 2)
    (pair,) = noise_of(law.name, "checkin", 6.0 if law.pure else 20.0)
    assert failed(pair, 3000) - {"checkin"} == {"labels"}


class Floats(SeededChance):
    """Draw Laplace noise as −s·log(u), for a float u of 12 bits."""

    def laplace(self, shape: tuple[int, ...], scale: float) -> Ints:
        u = (1 + self.rng.integers(2**12, size=shape)) / 2**12
        sign = self.rng.choice([-1, 1], size=shape)
        noise: Ints = np.rint(-scale * np.log(u) * sign).astype(np.int64)
        return noise


def test_finds_noise_of_floats() -> None:
    """Check that float noise is found by its few distinct sizes, which reveal the hidden value.

    Its law is right.

    Float noise with 53 bits is not found by drawing: integers on a grid of 2²⁰ steps to the scale
    cut away most of what it reveals. `check_noise_source` checks that the source of the noise is
    exact.
    """
    (pair,) = noise_of("laplace", "gradient", 1.0)
    assert failed(pair, 6000, PythonProgram(Floats())) == {"repeats"}


# Retries


@pytest.mark.parametrize("name", MECHANISMS)
def test_finds_fresh_noise_on_retry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a device that writes its check-in anew when the answer was lost.

    False-positive rate of the first half: `AUDIT_FALSE_ALARM` for each mechanism.
    """
    pair = (
        opposite_pair(Role.COUNT, 1.0)
        if name == "direction"
        else noise_of(name, "gradient", 1.5 if name == "laplace" else 6.0)[0]
    )
    assert audit_retries(pair, 100 if pair.event.loss.delta else 300, WholeDevice())["retry"].passed
    release, send = DeviceStore.release, Exchange._send
    again: list[Callable[[], Any]] = []

    def keep(self: DeviceStore, n_samples: int, event: Any, write: Any) -> WrittenCheckin | None:
        def kept(x: Array, y: Array, ledger: Ledger) -> Any:
            again[:] = [lambda: None, *[lambda: write(x, y, ledger)] * LOST]
            return write(x, y, ledger)

        return release(self, n_samples, event, kept)

    def anew(self: Exchange, checkin: WrittenCheckin) -> Outcome:
        written = again.pop(0)()
        return send(self, WrittenCheckin(checkin.id, written.body) if written else checkin)

    monkeypatch.setattr(DeviceStore, "release", keep)
    monkeypatch.setattr(Exchange, "_send", anew)
    trials = 200 if name == "direction" else 400
    assert audit_retries(pair, trials, WholeDevice(SeededChance()))["retry"].broken


# JavaScript


@pytest.mark.parametrize("name", MECHANISMS)
def test_javascript_passes(name: str) -> None:
    """Check that the JavaScript device passes.

    False-positive rate 3e-9: `AUDIT_FALSE_ALARM` for each mechanism.
    """
    epsilon = 12.0 if name == "gaussian" else 3.0
    whole = audit_mechanism(name, epsilon, trials=2000, program=JavaScriptProgram())
    assert whole.passed
    assert "retry" not in whole.parts
    assert max(finding.share for finding in whole.parts.values()) > 0.4


def planted(folder: Path, *edits: tuple[str, str, str]) -> JavaScriptProgram:
    """Copy the browser's modules with faults written into them."""
    web = folder / "web"
    shutil.copytree(WEB, web)
    for name, right, wrong in edits:
        text = (web / name).read_text()
        assert text.count(right) == 1, f"{right} must be in {name} once"
        (web / name).write_text(text.replace(right, wrong))
    return JavaScriptProgram(web)


ROOT_TWO_LESS = (
    "privacy/noise_sampling.js",
    "asFraction(level);\n  const t",
    "asFraction(Math.SQRT2 * level);\n  const t",
)
HALVED = ("privacy/noise_sampling.js", "2 * distance.e - e - 1", "2 * distance.e - e - 3")
TWO_FOR_FOUR = ("privacy/grid.js", "e + 1 - grid", "e - grid")
DIVISOR = (
    "privacy/noise_mechanism.js",
    "sensitivitySteps(clip, nTraining,",
    "sensitivitySteps(clip, 2 * nTraining,",
)
"""A divisor that counts all samples, although half of them are held out."""

ONE_BIN = ("privacy/laws.js", "twoBins: 2,", "twoBins: 1,")
LONG = ("privacy/features.js", "withoutTiny(value / length)", "withoutTiny(value)")
UNCLIPPED = ("models/linear.js", "length > target ? target / length : 1", "target")
COIN_OFF = ("privacy/choice.js", "Math.exp(epsilon)", "Math.exp(1.3 * epsilon)")
FLOAT = (
    "privacy/chance.js",
    "return addLaplace(values, amount, this);",
    "return values.map((value) => value + Math.round("
    "(Math.log((this.below(4096) + 1) / 4096) * (2 * this.below(2) - 1) * amount.sensitivity) "
    "/ amount.level));",
)


@pytest.mark.parametrize(
    ("name", "epsilon", "pair", "part", "edits"),
    [
        ("laplace", 3.0, "gradient", "gradient", [ROOT_TWO_LESS]),
        ("gaussian", 10.0, "gradient", "gradient", [HALVED]),
        ("laplace", 3.0, "gradient", "gradient", [TWO_FOR_FOUR]),
        ("laplace", 3.0, "heldout", "heldout", [DIVISOR]),
        ("laplace", 6.0, "checkin", "labels", [ONE_BIN]),
        ("laplace", 3.0, "gradient", "gradient", [LONG, UNCLIPPED]),
        ("laplace", 1.0, "gradient", "repeats", [FLOAT]),
    ],
)
def test_finds_faults_in_javascript(
    name: str,
    epsilon: float,
    pair: str,
    part: str,
    edits: list[tuple[str, str, str]],
    tmp_path: Path,
) -> None:
    first = noise_of(name, pair, epsilon)[0]
    assert part in failed(first, 12_000, planted(tmp_path, *edits))


@ROLE
def test_finds_a_wrong_coin_in_javascript(role: Role, tmp_path: Path) -> None:
    assert found(3.0, role, 20_000, planted(tmp_path, COIN_OFF)).broken


def test_a_failure_of_node_is_reported(tmp_path: Path) -> None:
    (pair,) = noise_of("laplace", "gradient")
    with pytest.raises(CrowdmlError, match="node stopped after 0 check-ins"):
        audit_pair(pair, 100, JavaScriptProgram(tmp_path))
    assert shutil.which("node")


# The one-file device


@ROLE
def test_the_one_file_device_passes(role: Role) -> None:
    """Check that the one-file device passes.

    False-positive rate 3e-9: `AUDIT_FALSE_ALARM` for each role.
    """
    finding = found(3.0, role, 2000, OneFileProgram())
    assert finding.passed
    assert finding.share > 0.4


@ROLE
def test_finds_a_wrong_coin_in_the_one_file_device(role: Role, tmp_path: Path) -> None:
    right = OneFileProgram().file.read_text()
    assert right.count("math.exp(epsilon))") == 1
    file = tmp_path / "device.py"
    file.write_text(right.replace("math.exp(epsilon))", "math.exp(1.5 * epsilon))"))
    assert found(3.0, role, 12_000, OneFileProgram(file)).broken


def test_the_one_file_device_computes_a_codebook_once(tmp_path: Path) -> None:
    """Count the calls of its own function.

    Otherwise an audit of 100,000 check-ins a side would take half an hour.
    """
    pair = opposite_pair(Role.TRAIN, 3.0)
    right, head = OneFileProgram().file.read_text(), "    keys = struct.unpack("
    assert right.count(head) == 1
    file, calls = tmp_path / "device.py", tmp_path / "calls"
    counted = f"    with open({str(calls)!r}, 'a') as calls:\n        calls.write('.')\n{head}"
    file.write_text(right.replace(head, counted))
    assert len(OneFileProgram(file).transcripts(pair, 20, lambda drawn: None)[0]) == 10
    assert calls.read_text() == "."


def test_the_one_file_device_has_no_noise() -> None:
    with pytest.raises(CrowdmlError, match="rejects the terms: the task uses laplace noise"):
        audit_mechanism("laplace", program=OneFileProgram())
