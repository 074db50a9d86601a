"""N_s, N_e and N_y^k of every device, and the estimates made from them."""

import math
from collections.abc import Sequence

import numpy as np

from crowdml.protocol import Estimate
from crowdml.types import Ints

__all__ = ["Totals", "error_estimate", "label_estimates"]

TWO_SIDED_95 = 1.959964


class Totals:
    """Sums per device, in arrays that grow by doubling.

    Columns of `table`: check-ins, n_s, samples behind n_e, n̂_e, staleness, then n̂_y^k for each
    class. `minutes` has the minute of each device's newest check-in.

    Paper: Algorithm 2, Server Routine 2.
    """

    CHECKINS, SAMPLES, EVALUATED, ERRORS, STALENESS, LABELS = range(6)

    def __init__(
        self, n_classes: int, table: Ints | None = None, minutes: Ints | None = None
    ) -> None:
        empty = np.zeros((0, self.LABELS + n_classes), dtype=np.int64)
        self._table = empty if table is None else table
        self.minutes: Ints = np.zeros(0, dtype=np.int64) if minutes is None else minutes
        self.sum: Ints = self._table.sum(axis=0)
        self.active_devices = int((self._table[:, self.CHECKINS] > 0).sum())

    @property
    def table(self) -> Ints:
        return self._table

    def add(
        self,
        device: int,
        minute: int,
        *,
        samples: int,
        evaluated: int,
        errors: int,
        staleness: int,
        labels: Sequence[int],
    ) -> None:
        if device >= len(self._table):
            more = max(16, 2 * device) - len(self._table)
            room = np.zeros((more, self._table.shape[1]), dtype=np.int64)
            self._table = np.concatenate([self._table, room])
            self.minutes = np.concatenate([self.minutes, room[:, 0]])
        row = np.array([1, samples, evaluated, errors, staleness, *labels])
        self.minutes[device] = minute
        totals = self._table[device]
        self.active_devices += int(totals[self.CHECKINS] == 0)
        totals += row
        self.sum += row


def error_estimate(
    errors: int, evaluated: int, checkins: int, noise_variance: float, z: float = TWO_SIDED_95
) -> Estimate | None:
    """Σn̂_e/Σn with its uncertainty: the noise of every count, and the sampling of a proportion.

    Paper: Appendix, Remark 2 (Eq. 14).

    >>> round(error_estimate(120, evaluated=1000, checkins=50, noise_variance=0.0).margin, 4)
    0.0201
    >>> round(error_estimate(120, evaluated=1000, checkins=50, noise_variance=800.0).margin, 4)
    0.3925
    """
    if not evaluated:
        return None
    value = errors / evaluated
    share = min(max(value, 1 / evaluated), 1 - 1 / evaluated)
    variance = checkins * noise_variance + evaluated * max(share * (1 - share), 0.0)
    return Estimate(value, z * math.sqrt(variance) / evaluated)


def label_estimates(
    counts: Ints, samples: int, checkins: int, noise_variance: float
) -> tuple[Estimate, ...]:
    """Σn̂_y^k/Σn_s for each class, with the same kind of margin."""
    estimates = (error_estimate(int(count), samples, checkins, noise_variance) for count in counts)
    return tuple(estimate for estimate in estimates if estimate is not None)
