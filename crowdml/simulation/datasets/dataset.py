"""Hold samples for training that belong to people, and samples for testing."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.privacy import bound_rows
from crowdml.simulation.datasets.dealing import apportion, assign_devices
from crowdml.types import Array, Flags, Ints


@dataclass(frozen=True)
class Dataset:
    """Hold samples for training, whose rows belong to people, and samples for testing only.

    Args:
        name: Its name on the command line.
        labels: The names of the classes; none if y is a number to be predicted.
        x_train: n×D features as sensors give them; see `bounded`.
        y_train: n class numbers, or n numbers to be predicted.
        person: The person of each row; all the same if that is not known.
        raw: Whether rows stay as long as they are; nothing computed from them can be hidden.
    """

    name: str
    labels: tuple[str, ...]
    x_train: Array
    y_train: Array
    person: Ints
    x_test: Array
    y_test: Array
    raw: bool = False

    def take(self, rows: Ints | Flags) -> "Dataset":
        """Return the data with only these rows for training."""
        return replace(
            self, x_train=self.x_train[rows], y_train=self.y_train[rows], person=self.person[rows]
        )

    def bounded(self, norm: int) -> "Dataset":
        """Return the samples as devices see them: rescaled to 1 if longer in this norm.

        >>> from crowdml.simulation.datasets import load_digits
        >>> round(float(np.linalg.norm(load_digits().bounded(2).x_test, axis=1).max()), 9)
        1.0
        """
        if self.raw:
            return self
        x_test, _ = self.bounded_test(norm)
        return replace(self, x_train=bound_rows(self.x_train, norm), x_test=x_test)

    def bounded_test(self, norm: int) -> tuple[Array, Array]:
        """Return only the test samples, bounded, with their labels or numbers."""
        return self.x_test if self.raw else bound_rows(self.x_test, norm), self.y_test

    @property
    def target_scale(self) -> float:
        """Return the typical size of numbers to be predicted, to one digit; 1 for labels."""
        size = 1.0 if self.labels else math.sqrt(float(np.square(self.y_train).mean()))
        return float(f"{size:.1g}") or 1.0

    def most_devices(self, batch: int) -> int:
        """Return the largest number of devices with b samples each, at least one per person.

        >>> from crowdml.simulation.datasets import load_digits
        >>> load_digits().most_devices(14)
        102
        """
        counts = np.unique(self.person, return_counts=True)[1]
        low, high = len(counts), max(len(counts), len(self.person) // batch)
        while low < high:
            middle = (low + high + 1) // 2
            shares = apportion(counts, middle)
            if ((counts // shares >= batch) | (shares == 1)).all():
                low = middle
            else:
                high = middle - 1
        return low

    def assign(
        self,
        n_devices: int,
        rng: np.random.Generator,
        skew: float | None = None,
        spread: float | None = None,
    ) -> npt.NDArray[np.int32]:
        """Assign each training sample to a device; no device mixes people.

        People get devices in proportion to their samples, at least one each. A person's samples
        go to the person's devices at random, all about equally many, unless:

        Args:
            n_devices: The number of devices, M.
            rng: The random generator.
            skew: Each device has its own mixture of labels, drawn from a Dirichlet law with this
                concentration per label: 100 is nearly even, 0.1 is one or two labels per device.
                The number of samples of a device stays as it is without a skew.
            spread: Devices are unequal: their sizes are log-normal with this σ. A device may get
                no sample at all.

        >>> from crowdml.simulation.datasets import load_digits
        >>> data = load_digits()
        >>> device = data.assign(100, np.random.default_rng(0))
        >>> sizes = np.bincount(device)
        >>> len(sizes), int(sizes.min()), int(sizes.max())
        (100, 14, 15)
        >>> sizes = np.bincount(data.assign(100, np.random.default_rng(0), spread=1.0))
        >>> int(sizes.min()) < 5, int(sizes.max()) > 50
        (True, True)
        """
        n_people = len(np.unique(self.person))
        if not n_people <= n_devices <= len(self.person):
            raise InvalidInput(
                f"{self.name} can be dealt to {n_people} … {len(self.person)} devices, "
                f"found {n_devices}."
            )
        if skew is not None and not self.labels:
            raise InvalidInput(
                f"skew is about labels and {self.name} has none, found {skew}. Leave it out."
            )
        y = None if skew is None else self.y_train
        return assign_devices(self.person, n_devices, rng, y=y, skew=skew, spread=spread)

    def deal(
        self,
        n_devices: int,
        rng: np.random.Generator,
        skew: float | None = None,
        spread: float | None = None,
    ) -> list[Ints]:
        """Deal the samples: one array of row numbers per device, each in random order.

        >>> from crowdml.simulation.datasets import load_activity
        >>> data = load_activity()
        >>> hands = data.deal(108, np.random.default_rng(0))
        >>> len(hands), sum(len(hand) for hand in hands) == len(data.y_train)
        (108, True)
        """
        device = self.assign(n_devices, rng, skew, spread)
        rows = rng.permutation(len(device))
        rows = rows[np.argsort(device[rows], kind="stable")]
        sizes = np.bincount(device, minlength=n_devices)
        return np.split(rows, np.cumsum(sizes)[:-1])
