"""Decide when samples reach devices.

The clock ticks once per sample of the whole crowd (Δ in the paper). At each tick one device gets
one of its samples.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput

Int32s = npt.NDArray[np.int32]


class Arrivals(NamedTuple):
    """Hold the arrivals: at tick k the device `device[k]` gets the sample `sample[k]`."""

    device: Int32s
    sample: Int32s


@dataclass(frozen=True)
class Presence:
    """Describe in which part of the time devices take part.

    Args:
        late: The share of devices that join late, at a uniformly random moment.
        leaving: The share of devices that leave early, at a uniformly random later moment.
    """

    late: float = 0.0
    leaving: float = 0.0

    def __post_init__(self) -> None:
        for name, share in (("late", self.late), ("leaving", self.leaving)):
            if not 0 <= share <= 1:
                raise InvalidInput(f"the share of {name} devices must lie in 0 … 1, found {share}.")


def arrive(
    device_of_sample: Int32s,
    passes: int,
    rng: np.random.Generator,
    presence: Presence | None = None,
) -> Arrivals:
    """Deliver every sample once per pass, each pass in a new random order.

    A device that is not present at a tick misses the sample.

    >>> arrivals = arrive(np.array([0, 0, 1], dtype=np.int32), 2, np.random.default_rng(0))
    >>> sorted(arrivals.sample.tolist())
    [0, 0, 1, 1, 2, 2]
    """
    if passes < 1:
        raise InvalidInput(f"passes must be at least 1, found {passes}.")
    n = len(device_of_sample)
    order = np.concatenate([rng.permutation(n).astype(np.int32) for _ in range(passes)])
    device = device_of_sample[order]
    if presence is None:
        return Arrivals(device, order)
    n_devices, ticks = int(device_of_sample.max()) + 1, len(order)
    joins = np.where(rng.random(n_devices) < presence.late, rng.random(n_devices), 0.0)
    leaves = joins + (1.0 - joins) * rng.random(n_devices)
    leaves = np.where(rng.random(n_devices) < presence.leaving, leaves, 1.0)
    now = np.arange(ticks) / ticks
    here = (now >= joins[device]) & (now < leaves[device])
    return Arrivals(device[here], order[here])
