"""Test the real data sets, if their folder is available."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets import Dataset, images, load_activity, load_dataset
from crowdml.simulation.datasets.activity import load_extrasensory
from crowdml.simulation.datasets.air import load_air
from crowdml.simulation.datasets.dataset_files import AIR, CIFAR10, EXTRASENSORY, MNIST
from crowdml.simulation.datasets.images import load_cifar10, load_mnist
from tests.simulation.datasets.test_datasets import check_dataset

REPOSITORY = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("CROWDML_DATA") or REPOSITORY.parent / "shared" / "data")
SOURCES = (*MNIST.values(), CIFAR10, EXTRASENSORY, AIR)

pytestmark = [
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="no data: set CROWDML_DATA or have shared/data beside"
    ),
]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("CROWDML_DATA", str(FOLDER))
        yield folder / "crowdml"


@pytest.fixture(scope="module")
def mnist(cache: Path) -> Dataset:
    return load_mnist()


def logistic_error(data: Dataset, some: int, strength: float) -> float:
    from sklearn.linear_model import LogisticRegression

    data = data.bounded(1)
    model = LogisticRegression(C=strength, max_iter=1000)
    model.fit(data.x_train[:some], data.y_train[:some])
    return float((model.predict(data.x_test) != data.y_test).mean())


def ridge_error(data: Dataset) -> float:
    from sklearn.linear_model import Ridge

    data = data.bounded(1)
    model = Ridge(1e-3).fit(data.x_train, data.y_train)
    return float(np.sqrt(((model.predict(data.x_test) - data.y_test) ** 2).mean()))


def test_checksums_and_sizes_match_the_folder() -> None:
    lines = (FOLDER / "SHA256SUMS").read_text().splitlines()
    checksums = {file.lstrip("*"): checksum for checksum, file in map(str.split, lines)}
    for source in SOURCES:
        assert checksums[source.path] == source.sha256
        assert (FOLDER / source.path).stat().st_size == source.n_bytes


def test_mnist(mnist: Dataset) -> None:
    check_dataset(mnist)
    assert (mnist.x_train.shape, mnist.x_test.shape) == ((60_000, 50), (10_000, 50))
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(mnist.y_train.astype(int)).tolist() == counts
    assert logistic_error(mnist, 2_000, 100.0) < 0.12  # 0.088 with all samples


def test_mnist_is_the_same_from_the_cache(
    mnist: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [kept] = (cache / "computed").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(images, "_mnist_components", None)
        again = load_mnist()
    assert (again.x_train == mnist.x_train).all()
    assert (again.x_test == mnist.x_test).all()
    kept.write_bytes(kept.read_bytes()[:1000])
    three = {"train": np.ones((3, 50), np.float32), "test": np.ones((3, 50), np.float32)}
    monkeypatch.setattr(images, "_mnist_components", lambda: three)
    assert len(load_mnist().x_train) == 3
    monkeypatch.setattr(images, "_mnist_components", None)
    assert len(load_mnist().x_train) == 3
    kept.unlink()


def test_cifar10() -> None:
    data = load_cifar10()
    check_dataset(data)
    assert (data.x_train.shape, data.x_test.shape) == ((50_000, 100), (10_000, 100))
    assert data.labels[:2] == ("airplane", "automobile")
    assert data.y_train[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert logistic_error(data, 1_000, 1000.0) < 0.19  # 0.129 with all samples


def test_extrasensory() -> None:
    data = load_extrasensory()
    check_dataset(data)
    assert data.labels == ("Still", "OnFoot", "InVehicle")
    assert set(data.person) == set(range(22))
    assert len(data.y_train) + len(data.y_test) == 33_743
    assert logistic_error(data, 3_000, 100.0) < 0.28  # 0.218 with all samples


def test_activity_is_the_full_spectrum() -> None:
    with np.load(FOLDER / "activity_motionsense_features.npz", allow_pickle=False) as archive:
        train = archive["user"] < 19
        x = archive["X"][train].astype(float)
    x /= x.sum(axis=1, keepdims=True)
    assert np.abs(load_activity("paper").bounded(1).x_train - x).max() < 1e-3


def test_air() -> None:
    data = load_air()
    check_dataset(data)
    assert data.labels == ()
    assert (data.x_train.shape, data.x_test.shape) == ((95_097, 10), (33_169, 10))
    assert set(data.person) == set(range(12))
    assert data.y_train.mean() == pytest.approx(0, abs=1e-9)
    assert data.y_train.std() == pytest.approx(1)
    assert ridge_error(data) == pytest.approx(0.487, abs=0.005)


@pytest.mark.parametrize("name", ["air", "cifar10", "extrasensory", "mnist"])
def test_names_and_damage(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_dataset("air").name == "air"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CROWDML_DATA", str(tmp_path))
    with pytest.raises(InvalidInput, match="Put it there"):
        load_dataset(name)
    for source in SOURCES:
        (tmp_path / source.path).parent.mkdir(exist_ok=True)
        (tmp_path / source.path).write_bytes(b"damaged")
    with pytest.raises(InvalidInput, match="must have the SHA-256 checksum"):
        load_dataset(name)
