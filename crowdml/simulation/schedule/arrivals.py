"""Decide when samples reach devices.

The clock ticks once per sample of the whole crowd (Δ in the paper). At each tick one device gets
one of its samples.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]


class Arrivals(NamedTuple):
    """Hold the arrivals: at tick k the device `device[k]` gets the sample `sample[k]`."""

    device: Int32s
    sample: Int32s


def arrive(
    device_of_sample: Int32s,
    passes: int,
    rng: np.random.Generator,
    late: float = 0.0,
    leaving: float = 0.0,
) -> Arrivals:
    """Deliver every sample once per pass, each pass in a new random order.

    A device that is not present at a tick misses the sample. The share `late` of the devices joins
    at a uniformly random moment, and the share `leaving` leaves at a uniformly random later moment.

    >>> arrivals = arrive(np.array([0, 0, 1], dtype=np.int32), 2, np.random.default_rng(0))
    >>> sorted(arrivals.sample.tolist())
    [0, 0, 1, 1, 2, 2]
    """
    n = len(device_of_sample)
    order = np.concatenate([rng.permutation(n).astype(np.int32) for _ in range(passes)])
    device = device_of_sample[order]
    if not late and not leaving:
        return Arrivals(device, order)
    n_devices, ticks = int(device_of_sample.max()) + 1, len(order)
    joins = np.where(rng.random(n_devices) < late, rng.random(n_devices), 0.0)
    leaves = joins + (1.0 - joins) * rng.random(n_devices)
    leaves = np.where(rng.random(n_devices) < leaving, leaves, 1.0)
    now = np.arange(ticks) / ticks
    here = (now >= joins[device]) & (now < leaves[device])
    return Arrivals(device[here], order[here])
