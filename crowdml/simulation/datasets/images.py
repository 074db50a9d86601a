"""Load images: MNIST, CIFAR-10 and the small digits, which belong to no particular person."""

import gzip
import io
import math
from typing import cast

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.cache import cached_arrays
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.simulation.datasets.dataset_files import CIFAR10, MNIST, read_dataset_file
from crowdml.types import Array, Ints

COMPONENTS = 50
VERSION = 1
"""The version of the computation; a change of the computation must change it."""

Pixels = npt.NDArray[np.uint8]
DIGITS = tuple(str(digit) for digit in range(10))


def load_mnist() -> Dataset:
    """Load MNIST: 60,000 + 10,000 handwritten digits, by their 50 principal components.

    Pixels are scaled to [0, 1], and the components are those of the training images. Every row is
    longer than 1, so devices rescale them all.

    Paper: Section V-C.
    """
    y_train, y_test = (
        np.frombuffer(gzip.decompress(read_dataset_file(MNIST[part])), np.uint8, offset=8)
        for part in ("y_train", "y_test")
    )
    checksums = "-".join(MNIST[part].sha256[:16] for part in ("x_train", "x_test"))
    x = cached_arrays(f"mnist-pca{COMPONENTS}-v{VERSION}-{checksums}", _mnist_components)
    return _of_nobody("mnist", DIGITS, x["train"], y_train, x["test"], y_test)


def load_cifar10() -> Dataset:
    """Load CIFAR-10: 50,000 + 10,000 photographs, by 100 principal components of CNN features.

    The network is EfficientNet-Lite0, trained on ImageNet. Every row is longer than 1.

    Paper: Appendix D.
    """
    with np.load(io.BytesIO(read_dataset_file(CIFAR10)), allow_pickle=False) as archive:
        labels = tuple(archive["class_names"].tolist())
        parts = (archive[part] for part in ("X_train", "y_train", "X_test", "y_test"))
        return _of_nobody("cifar10", labels, *parts)


def load_digits() -> Dataset:
    """Load handwritten digits, 8×8 pixels of 0 to 16, from scikit-learn; rows are longer than 1.

    >>> data = load_digits()
    >>> data.x_train.shape, data.x_test.shape
    ((1437, 64), (360, 64))
    """
    try:
        from sklearn.datasets import load_digits as load
    except ImportError as error:
        raise InvalidInput(
            "the digits come with scikit-learn, which is not installed. "
            "Run: pip install 'crowdml[sim]'"
        ) from error
    x, y = cast(tuple[Array, Ints], load(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1437], order[1437:]
    return _of_nobody("digits", DIGITS, x[train], y[train], x[test], y[test])


def principal_components(images: Pixels, n: int) -> tuple[Array, Array]:
    """Compute the mean and the n directions of largest variance, as columns, of images in [0, 1].

    The largest entry of each direction is positive. Images are taken a few at a time, so that
    only those are ever held as real numbers.
    """
    mean = images.mean(axis=0, dtype=np.float64) / 255
    covariance = np.zeros((len(mean), len(mean)))
    for some in _few_at_a_time(images):
        centred = some / 255 - mean
        covariance += centred.T @ centred
    directions = np.linalg.eigh(covariance)[1][:, : -n - 1 : -1]
    largest = np.abs(directions).argmax(axis=0)
    return mean, directions * np.sign(directions[largest, np.arange(n)])


def _mnist_components() -> dict[str, npt.NDArray[np.float32]]:
    train, test = (_pixels(read_dataset_file(MNIST[part])) for part in ("x_train", "x_test"))
    mean, directions = principal_components(train, COMPONENTS)
    x_train, x_test = (
        np.vstack([(some / 255 - mean) @ directions for some in _few_at_a_time(images)])
        for images in (train, test)
    )
    return {"train": x_train.astype(np.float32), "test": x_test.astype(np.float32)}


def _few_at_a_time(images: Pixels) -> list[Pixels]:
    return np.array_split(images, math.ceil(len(images) / 10_000))


def _pixels(idx: bytes) -> Pixels:
    return np.frombuffer(gzip.decompress(idx), np.uint8, offset=16).reshape(-1, 28 * 28)


def _of_nobody(name: str, labels: tuple[str, ...], *arrays: npt.NDArray[np.generic]) -> Dataset:
    x_train, y_train, x_test, y_test = (array.astype(np.float64) for array in arrays)
    person = np.zeros(len(y_train), np.int64)
    return Dataset(name, labels, x_train, y_train, person, x_test, y_test)
