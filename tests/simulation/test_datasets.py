"""The data sets that come with the package, and the rule of collection."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

import crowdml.simulation.datasets as package
from crowdml.errors import InvalidInput
from crowdml.simulation.datasets import (
    DATASET_NAMES,
    Dataset,
    load_activity,
    load_dataset,
    load_digits,
    on_label_change,
)
from crowdml.simulation.datasets.images import principal_components
from crowdml.simulation.datasets.scaling import l1_normalized, standardized


def check_dataset(data: Dataset) -> None:
    """What every data set must be, whatever it came from."""
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        assert x.dtype == y.dtype == np.float64
        assert x.shape == (len(y), data.x_train.shape[1])
        assert np.isfinite(x).all()
        assert np.isfinite(y).all()
        assert np.abs(x).sum(axis=1).max() <= 1 + 1e-12
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
    assert np.allclose(np.abs(data.x_test).sum(axis=1), 1)


def test_paper_features_mirror_and_demo_features_weigh_gravity_down() -> None:
    paper, demo = load_activity().x_train, load_activity("demo").x_train
    assert (paper[:, 33:] == paper[:, 31:0:-1]).all()
    # Either is the same spectrum up to a factor per row, but for bin 0.
    assert np.allclose(paper[:, 1:33] / paper[:, 1:2], demo[:, 1:] / demo[:, 1:2])
    assert np.allclose(0.1 * paper[:, 0] / paper[:, 1], demo[:, 0] / demo[:, 1])


def test_unknown_features() -> None:
    with pytest.raises(InvalidInput, match="paper or demo, found 'fft'"):
        load_activity("fft")


def test_digits() -> None:
    check_dataset(load_digits())


def test_names() -> None:
    assert load_dataset("activity").x_train.shape == (6474, 64)
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


def test_on_label_change_in_the_package_data() -> None:
    data = load_activity()
    kept = on_label_change(data.y_train, data.person)
    assert set(data.person[kept]) == set(data.person)
    assert len(kept) < 100


def test_scaling_of_constant_columns_and_zero_rows() -> None:
    x = np.array([[1.0, 7.0], [3.0, 7.0]])
    assert standardized(x, x).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert l1_normalized(np.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]


def test_principal_components_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    pixels = (rng.random((300, 12)) * np.linspace(20, 255, 12)).astype(np.uint8)
    mean, directions = principal_components(pixels, 5)
    reference = PCA(5, svd_solver="full").fit(pixels / 255)
    assert np.allclose(mean, reference.mean_)
    assert np.allclose(np.abs(directions.T @ reference.components_.T), np.eye(5), atol=1e-9)
    assert (directions.max(axis=0) == np.abs(directions).max(axis=0)).all()
