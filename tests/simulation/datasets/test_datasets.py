"""Test the data sets that come with the package, and how samples are collected."""

from dataclasses import replace

import numpy as np
import pytest

import crowdml.simulation.datasets as package
from crowdml.errors import InvalidInput
from crowdml.privacy import bound_features
from crowdml.simulation.datasets import (
    DATASET_NAMES,
    Dataset,
    load_activity,
    load_dataset,
    load_digits,
    on_label_change,
)
from crowdml.simulation.datasets.images import principal_components
from crowdml.simulation.datasets.scaling import standardized


def check_dataset(data: Dataset) -> None:
    """Check what every data set must satisfy, whatever its source."""
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        assert x.dtype == y.dtype == np.float64
        assert x.shape == (len(y), data.x_train.shape[1])
        assert np.isfinite(x).all()
        assert np.isfinite(y).all()
        if data.labels:
            assert set(np.unique(y)) <= set(range(len(data.labels)))
    assert data.person.dtype == np.int64
    assert data.person.shape == data.y_train.shape


def test_exports() -> None:
    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
    assert list(DATASET_NAMES) == sorted(DATASET_NAMES)


@pytest.mark.parametrize("features", ["paper", "demo"])
def test_activity_is_by_people(features: str) -> None:
    data = load_activity(features)
    check_dataset(data)
    assert set(data.person) == set(range(1, 19))
    assert np.linalg.norm(data.x_test, axis=1).min() > 1


def test_paper_features_mirror_and_demo_features_weigh_gravity_down() -> None:
    paper, demo = load_activity("paper").x_train, load_activity("demo").x_train
    assert (paper[:, 33:] == paper[:, 31:0:-1]).all()
    assert (paper[:, 1:12] == demo[:, 1:]).all()
    assert np.allclose(0.1 * paper[:, 0], demo[:, 0])


def test_unknown_features() -> None:
    with pytest.raises(InvalidInput, match="paper or demo, found 'fft'"):
        load_activity("fft")


def test_names() -> None:
    assert load_dataset("activity").x_train.shape == (6474, 12)
    with pytest.raises(InvalidInput, match=r"activity, air, .* or a path .* found 'iris'"):
        load_dataset("iris")


def test_on_label_change_is_the_rule() -> None:
    rng = np.random.default_rng(1)
    y, person = rng.integers(0, 3, 500).astype(float), rng.integers(0, 7, 500)
    expected: list[int] = []
    last: dict[int, float] = {}
    for row, (label, who) in enumerate(zip(y.tolist(), person.tolist(), strict=True)):
        if last.get(who) != label:
            expected.append(row)
        last[who] = label
    assert on_label_change(y, person).tolist() == expected
    assert on_label_change(y[:0], person[:0]).tolist() == []


def test_scaling_of_constant_columns() -> None:
    x = np.array([[1.0, 7.0], [3.0, 7.0]])
    assert standardized(x, x).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_principal_components_are_scikit_learns() -> None:
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    pixels = (rng.random((300, 12)) * np.linspace(20, 255, 12)).astype(np.uint8)
    mean, directions = principal_components(pixels, 5)
    reference = PCA(5, svd_solver="full").fit(pixels / 255)
    assert np.allclose(mean, reference.mean_)
    assert np.allclose(np.abs(directions.T @ reference.components_.T), np.eye(5), atol=1e-9)
    assert (directions.max(axis=0) == np.abs(directions).max(axis=0)).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_rows_are_bounded_as_devices_bound_them(norm: int) -> None:
    """Check row by row that a long row changes no other, and that short or zero rows stay."""
    x = np.array([[3.0, -1.0], [1e200, 1e200], [0.3, 0.2], [0.0, 0.0]])
    data = Dataset("toy", (), x, np.zeros(4), np.zeros(4, np.int64), x[::-1], np.zeros(4))
    seen = data.bounded(norm)
    expected = [bound_features(row, 2, norm).tolist() for row in x]
    assert seen.x_train.tolist() == expected
    assert seen.x_test.tolist() == expected[::-1]
    assert seen.x_train[2:].tolist() == x[2:].tolist()
    raw = replace(data, raw=True)
    assert raw.bounded(norm) is raw


def test_as_many_devices_as_have_a_batch_each() -> None:
    """Check that one more device would leave some device of a person with fewer than b samples."""
    person = np.repeat([0, 1, 2], [100, 37, 4])
    data = Dataset("toy", (), np.zeros((141, 1)), np.zeros(141), person, np.zeros((1, 1)), person)
    for batch in (1, 5, 10, 36, 200):
        devices = data.most_devices(batch)
        hands = np.bincount(data.assign(devices, np.random.default_rng(0)))
        owner = [
            person[data.assign(devices, np.random.default_rng(0)) == d][0] for d in range(devices)
        ]
        short = {who for who, hand in zip(owner, hands.tolist(), strict=True) if hand < batch}
        assert short == {who for who, n in ((0, 100), (1, 37), (2, 4)) if n < batch}
        assert devices >= 3
    assert data.most_devices(5) > 20


def test_the_scale_of_numbers_is_their_typical_size() -> None:
    x = np.zeros((3, 1))
    numbers = Dataset(
        "toy", (), x, np.array([30.0, -40.0, 50.0]), np.zeros(3, np.int64), x, x[:, 0]
    )
    assert numbers.target_scale == 40
    assert replace(numbers, y_train=np.zeros(3)).target_scale == 1
    assert load_digits().target_scale == 1
