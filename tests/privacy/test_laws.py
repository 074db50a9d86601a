"""Test the scale for a level, the variance and tail of the noise, and OpenDP's certificate."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import CrowdmlError
from crowdml.privacy import GAUSSIAN, LAPLACE, Law
from crowdml.privacy.noise_source import measurement
from tests.privacy import law as definition
from tests.privacy.recording_chance import RecordingChance

LAW = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)
SCALE = pytest.mark.parametrize("scale", [0.01, 0.3, 0.7, 2.9, 3.3, 25.0, 400.0])


def scale_of(law: Law, sensitivity: float, level: float) -> float:
    """Return the scale of the noise that is really requested."""
    spy = RecordingChance()
    law.add(np.zeros(1, dtype=np.int64), sensitivity, level, spy)
    assert spy.laws == [law.name]
    return spy.scales[0]


@pytest.mark.parametrize(
    ("law", "sensitivity", "level", "scale"),
    [
        (LAPLACE, 1, 0.05, 20.0),
        (LAPLACE, 2, 0.05, 40.0),
        (LAPLACE, 7, 3.5, 2.0),
        (GAUSSIAN, 1, 0.02, 5.0),
        (GAUSSIAN, 2, 0.02, 10.0),
        (GAUSSIAN, 7, 24.5, 1.0),
        (GAUSSIAN, math.sqrt(2), 0.0625, 4.0),
    ],
)
def test_scale(law: Law, sensitivity: float, level: float, scale: float) -> None:
    """Check for Δ/ε, and Δ/√(2ρ), which is a standard deviation and not a variance."""
    assert scale_of(law, sensitivity, level) == pytest.approx(scale, rel=1e-14)


@LAW
@settings(deadline=None, max_examples=200)
@given(sensitivity=st.integers(1, 10**9), level=st.floats(1e-6, 1e3))
def test_opendp_certifies_the_scale(law: Law, sensitivity: int, level: float) -> None:
    """Check that OpenDP certifies the scale, but not a slightly smaller one: no noise is wasted."""
    scale = scale_of(law, sensitivity, level)
    exact = sensitivity if law is LAPLACE else float(sensitivity)
    assert measurement(law.name, scale).map(exact) <= level
    assert measurement(law.name, scale * (1 - 1e-14)).map(exact) > level
    assert scale == pytest.approx(sensitivity / law.strength(level), rel=1e-14)


@LAW
@SCALE
def test_variance(law: Law, scale: float) -> None:
    expected = definition.variance(scale, law.norm)
    assert law.variance(scale) == pytest.approx(expected, rel=1e-9, abs=1e-30)


def test_variance_at_large_scales() -> None:
    """Compare with 2s² − 1/6 + O(1/s²), from the series of 1/(2·sinh²(1/2s)), and with s²."""
    for scale in (1e4, 2.0**20):
        assert LAPLACE.variance(scale) == pytest.approx(2 * scale**2 - 1 / 6, rel=1e-9)
        assert GAUSSIAN.variance(scale) == scale**2


@LAW
@pytest.mark.parametrize("scale", [0.3, 0.7, 3.3, 25.0, 400.0])
@pytest.mark.parametrize("probability", [0.9, 0.5, 0.01, 1e-9, 1e-12])
def test_tail_is_not_exceeded(law: Law, scale: float, probability: float) -> None:
    k = law.tail(scale, probability)
    assert definition.tail(k, scale, law.norm) <= probability * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 0.7, 3.3, 25.0, 400.0])
@pytest.mark.parametrize("probability", [0.9, 0.5, 0.01, 1e-9, 1e-12])
def test_tail_is_the_least(scale: float, probability: float) -> None:
    """Check that the tail is minimal for Laplace.

    A Gaussian tail is only bounded: at a rare probability it is up to a tenth too large.
    """
    k = LAPLACE.tail(scale, probability)
    assert k == 0 or definition.tail(k - 1, scale) > probability * (1 - 1e-9)
    if probability <= 1e-9 and scale > 1:
        k = GAUSSIAN.tail(scale, probability)
        assert definition.tail(int(0.9 * k), scale, norm=2) > probability


@pytest.mark.parametrize("size", [*range(1, 30), 99, 100, 101, 10**6, 10**6 + 1])
def test_rounding(size: int) -> None:
    assert LAPLACE.rounding(size) == size
    assert GAUSSIAN.rounding(size) == math.ceil(math.sqrt(size))


def test_two_bins() -> None:
    """Check the length of (1, −1): 2 in L1, and √2 in L2 rounded up, never down."""
    assert LAPLACE.two_bins() == 2
    assert 0 < GAUSSIAN.two_bins() ** 2 - 2 < 1e-15


@LAW
@SCALE
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_excess(law: Law, scale: float, share: float) -> None:
    """Compare with the sum over all noise beyond k, the smallest terms first."""
    k = round(share * scale) + (share > 0)
    beyond = range(math.ceil(60 * scale) + k + 2, k, -1)
    terms = [(z - k, definition.probability(z, scale, law.norm)) for z in beyond]
    expected = tuple(math.fsum(d**power * p for d, p in terms) for power in (1, 2))
    # A large Gaussian scale is treated as continuous.
    off = 1e-5 if law is GAUSSIAN and scale > 100 else 1e-9
    assert law.excess(scale, k) == pytest.approx(expected, rel=off, abs=1e-30)


def test_gaussian_tail_is_rounded_up() -> None:
    assert GAUSSIAN.tail(10.0, 0.01) == 33  # √(2·ln 200) = 3.255


@LAW
def test_outline_and_simulation(law: Law) -> None:
    z = np.array([-2.0, 0.0, 1.0, 3.0])
    assert np.allclose(law.outline(z), np.exp(-(abs(z) ** law.norm) / law.norm))
    drawn = law.simulate(4000, 0.5, np.random.default_rng(5))
    assert abs(drawn.mean()) < 0.1, "seeded"


# Check-ins without OpenDP

BLOCKED = "import sys; sys.modules['opendp'] = None\n"
DIRECTION = """
import numpy as np
from crowdml.models import Minibatch, Softmax
from crowdml.privacy import CheckinKey, DirectionMechanism, Role, Roles, SystemChance
from crowdml.device.routines import write_checkin
mechanism = DirectionMechanism(4.0, 1024, 67, size=6, n_classes=3, roles=Roles(0.3, 0.3))
samples = Minibatch(Softmax(2, 3), np.zeros(6), np.ones((4, 2)) / 2, np.array([0.0, 1, 2, 0]))
roles = set()
for i in range(40):
    place = CheckinKey("00" * 32, f"device-{i}", 1)
    event = mechanism.event(4, place)
    message = write_checkin(mechanism, samples, event, place, SystemChance(), version=0)
    mechanism.read(message, place)
    roles.add(event.role)
assert roles == set(Role), roles
import sys
found = [name for name in sys.modules if name.partition(".")[0] == "opendp" and sys.modules[name]]
assert not found, found
"""


@pytest.mark.parametrize("before", ["", BLOCKED], ids=["there", "not installed"])
def test_a_direction_needs_no_opendp(before: str) -> None:
    """Run everything that a device does for a check-in, in a separate interpreter."""
    subprocess.run([sys.executable, "-c", before + DIRECTION], check=True)


@LAW
def test_noise_says_what_is_missing(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(CrowdmlError) as error:
        law.add(np.zeros(1, dtype=np.int64), 17, 0.123, RecordingChance())
    start = f"{law.name} noise needs opendp"
    assert str(error.value).startswith(start)
    assert str(error.value).endswith("which is not installed. Run: pip install 'crowdml[noise]'")
