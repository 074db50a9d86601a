"""The data sets that come with the package: phone activity and handwritten digits."""

from dataclasses import dataclass
from importlib.resources import files
from typing import cast

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.types import Array, Ints

__all__ = ["Dataset", "load_activity", "load_dataset", "load_digits"]

GRAVITY_WEIGHT = 0.1
"""Bin 0 of the spectrum is nine tenths gravity. Fixed here, not learnt from anyone's data."""

TEST_PEOPLE = range(19, 25)


@dataclass(frozen=True)
class Dataset:
    """Samples for training, whose rows belong to people, and samples of nobody who takes part.

    Args:
        name: Its name on the command line.
        labels: The names of the classes.
        x_train: n×D features with ‖x‖₁ ≤ 1.
        y_train: n labels.
        person: Whose sample each row is.
        x_test: Features for testing only.
        y_test: Their labels.
    """

    name: str
    labels: tuple[str, ...]
    x_train: Array
    y_train: Ints
    person: Ints
    x_test: Array
    y_test: Ints

    def deal(self, n_devices: int, rng: np.random.Generator) -> list[Ints]:
        """Row numbers for each device: a person's samples, shuffled, over as many devices as the
        person has, so that no device mixes people and all hold about the same number.

        >>> data = load_activity()
        >>> hands = data.deal(108, np.random.default_rng(0))
        >>> len(hands), sum(len(hand) for hand in hands) == len(data.y_train)
        (108, True)
        """
        people, counts = np.unique(self.person, return_counts=True)
        if not len(people) <= n_devices <= len(self.person):
            raise InvalidInput(
                f"{self.name} can be dealt to {len(people)} … {len(self.person)} devices, "
                f"found {n_devices}."
            )
        hands: list[Ints] = []
        for person, n in zip(people, _apportion(counts, n_devices), strict=True):
            rows = rng.permutation(np.flatnonzero(self.person == person))
            hands.extend(np.array_split(rows, n))
        return hands


def load_dataset(name: str) -> Dataset:
    loaders = {"activity": load_activity, "digits": load_digits}
    if name not in loaders:
        raise InvalidInput(f"the data set must be activity or digits, found {name!r}.")
    return loaders[name]()


def load_activity() -> Dataset:
    """MotionSense: what people do, from the phone in their pocket. 24 people, 3 activities.

    x is the spectrum of the acceleration's magnitude over 3.2 s at 20 Hz: the 33 bins of a
    64-point Fourier transform that are not mirror images, bin 0 weighted down by ten because it
    is mostly gravity, then divided by the L1 norm. People 19 to 24 are for testing.

    Source and licence: `crowdml/data/LICENSE-motionsense.txt`.

    >>> data = load_activity()
    >>> data.x_train.shape, data.x_test.shape, data.labels
    ((6474, 33), (2191, 33), ('Still', 'Walking', 'Jogging'))
    """
    with files("crowdml.data").joinpath("activity.npz").open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        x, y = archive["spectrum"].astype(np.float64), archive["y"].astype(np.int64)
        person = archive["user"].astype(np.int64)
    x[:, 0] *= GRAVITY_WEIGHT
    x /= np.abs(x).sum(axis=1, keepdims=True)
    test = np.isin(person, list(TEST_PEOPLE))
    labels = ("Still", "Walking", "Jogging")
    return Dataset("activity", labels, x[~test], y[~test], person[~test], x[test], y[test])


def load_digits() -> Dataset:
    """Handwritten digits, 8×8 pixels, from scikit-learn; dealt as if they were one person's.

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
    x = x / np.abs(x).sum(axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1437], order[1437:]
    labels = tuple(str(digit) for digit in range(10))
    return Dataset("digits", labels, x[train], y[train], np.zeros(1437, int), x[test], y[test])


def _apportion(counts: Ints, total: int) -> Ints:
    """Devices per person, in proportion to their samples, at least one each."""
    shares = np.ones(len(counts), dtype=np.int64)
    for _ in range(total - len(counts)):
        shares[np.argmax(counts / shares)] += 1
    return shares
