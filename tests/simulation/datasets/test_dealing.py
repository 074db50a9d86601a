"""Test that every sample reaches one device, and that devices are as unequal as requested."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.datasets.dealing import apportion
from crowdml.types import Array, Ints


def dataset(y: Array, person: Ints | None = None, n_labels: int = 10) -> Dataset:
    labels = tuple(str(label) for label in range(n_labels))
    person = np.zeros(len(y), dtype=np.int64) if person is None else person
    return Dataset("toy", labels, np.zeros((len(y), 1)), y, person, np.zeros((1, 1)), y[:1])


def apportion_slowly(counts: Ints, total: int) -> list[int]:
    shares = np.ones(len(counts), dtype=np.int64)
    for _ in range(total - len(counts)):
        shares[np.argmax(counts / shares)] += 1
    return [int(share) for share in shares]


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.floats(0, 1))
def test_apportion_is_one_device_at_a_time(counts: list[int], fraction: float) -> None:
    total = len(counts) + round(fraction * (sum(counts) - len(counts)))
    found = apportion(np.array(counts), total)
    assert found.tolist() == apportion_slowly(np.array(counts), total)


kinds = st.sampled_from([(None, None), (0.05, None), (1e-6, None), (None, 2.0), (1.0, 1.0)])


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(20, 200), st.floats(0, 1), kinds)
def test_each_sample_is_dealt_once_and_no_device_mixes_people(
    seed: int, n_people: int, n: int, fraction: float, kind: tuple[float | None, float | None]
) -> None:
    rng = np.random.default_rng(seed)
    data = dataset(rng.integers(0, 4, n).astype(float), rng.integers(0, n_people, n))
    people = len(np.unique(data.person))
    n_devices = people + round(fraction * (n - people))
    hands = data.deal(n_devices, np.random.default_rng(seed), *kind)
    assert len(hands) == n_devices
    assert sorted(np.concatenate(hands).tolist()) == list(range(n))
    assert all(len(set(data.person[hand])) <= 1 for hand in hands)
    if kind == (None, None):
        assert min(len(hand) for hand in hands) >= 1
    device = data.assign(n_devices, np.random.default_rng(seed), *kind)
    assert device.dtype == np.int32
    assert [np.flatnonzero(device == i).tolist() for i in range(n_devices)] == [
        sorted(hand.tolist()) for hand in hands
    ]


def test_even_devices_differ_by_one_sample_at_most() -> None:
    sizes = np.bincount(dataset(np.zeros(1003)).assign(100, np.random.default_rng(0)))
    assert (sizes.min(), sizes.max()) == (10, 11)


def test_hands_are_in_random_order() -> None:
    hands = dataset(np.zeros(1000)).deal(10, np.random.default_rng(0))
    assert all((np.diff(hand) < 0).any() for hand in hands)


def test_spread_is_the_sigma_of_the_sizes() -> None:
    data = dataset(np.zeros(1_000_000))
    for sigma in (0.5, 1.0):
        sizes = np.bincount(data.assign(1000, np.random.default_rng(3), spread=sigma))
        assert np.log(sizes).std() == pytest.approx(sigma, rel=0.1)  # its deviation: 2.2 %
    sizes = np.bincount(data.assign(1000, np.random.default_rng(3), spread=0.0))
    assert (sizes.min(), sizes.max()) == (1000, 1000)


@pytest.mark.parametrize("skew", [0.1, 1.0, 10.0])
def test_skew_is_the_concentration_of_the_labels(skew: float) -> None:
    """Compare with E Σ_c p_c² = (α + 1)/(αC + 1) for the symmetric Dirichlet law with C labels."""
    y = np.repeat(np.arange(10.0), 50_000)
    device = dataset(y).assign(1000, np.random.default_rng(5), skew=skew)
    table = np.histogram2d(device, y, bins=(1000, 10))[0]
    mixtures = table / table.sum(axis=1, keepdims=True)
    expected = (skew + 1) / (10 * skew + 1)
    assert (mixtures**2).sum(axis=1).mean() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("skew", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("spread", [None, 1.0])
def test_skew_is_of_labels_alone(skew: float, spread: float | None) -> None:
    """Check that a skew does not change a device's number of samples, even if labels are rare."""
    data = dataset(np.repeat([0.0, 1.0, 2.0], [3_600, 360, 40]))
    even, skewed = (
        np.bincount(data.assign(200, np.random.default_rng(7), each, spread), minlength=200)
        for each in (None, skew)
    )
    assert skewed.tolist() == even.tolist()
    assert spread is not None or set(skewed) == {20}


def test_cuts_favour_nobody() -> None:
    """Deal forty samples to 40 unequal devices: each device has one on average."""
    data, rng = dataset(np.zeros(40)), np.random.default_rng(0)
    sizes = sum(np.bincount(data.assign(40, rng, spread=1.0), minlength=40) for _ in range(4000))
    # The deviation of a mean is about 1.4/√4000 = 0.022; six of them leave 1e-7 for 40 devices.
    assert np.abs(np.asarray(sizes) / 4000 - 1.0).max() < 0.14


def test_wrong_arguments() -> None:
    data, rng = dataset(np.zeros(10)), np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="1 … 10 devices, found 11"):
        data.assign(11, rng)
    for skew in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InvalidInput, match="skew must be positive"):
            data.assign(3, rng, skew=skew)
    for spread in (-1.0, np.inf, np.nan):
        with pytest.raises(InvalidInput, match="spread must lie in 0"):
            data.assign(3, rng, spread=spread)
    with pytest.raises(InvalidInput, match="skew is about labels"):
        dataset(np.zeros(10), n_labels=0).assign(3, rng, skew=1.0)
    assert len(dataset(np.zeros(10), n_labels=0).assign(3, rng, spread=1.0)) == 10
