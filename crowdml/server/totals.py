"""N_s, N_e and N_y^k of a task, and the estimates made from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from crowdml.protocol import Estimate
from crowdml.server.entry import LogEntry
from crowdml.types import Ints

__all__ = ["TWO_SIDED_95", "Totals", "error_estimate", "label_estimates"]

TWO_SIDED_95 = 1.959964
LABELS = msgspec.json.Decoder(list[int])


@dataclass
class Totals:
    """Sums over all devices; those of one device are a question to the log.

    Args:
        labels: Σn̂_y^k for each class.
        samples: Σn_s.
        evaluated: The samples behind Σn̂_e.
        errors: Σn̂_e.
        staleness: Versions late, summed over check-ins.

    Paper: Algorithm 2, Server Routine 2.
    """

    labels: list[int]
    samples: int = 0
    evaluated: int = 0
    errors: int = 0
    staleness: int = 0

    def add(self, entry: LogEntry) -> None:
        counts = LABELS.decode(entry.labels)
        self.labels = [total + n for total, n in zip(self.labels, counts, strict=True)]
        self.samples += entry.samples
        self.evaluated += entry.evaluated
        self.errors += entry.errors
        self.staleness += entry.staleness

    def to_array(self) -> Ints:
        sums = (self.samples, self.evaluated, self.errors, self.staleness)
        return np.array([*sums, *self.labels], dtype=np.int64)

    @classmethod
    def from_array(cls, sums: Ints) -> "Totals":
        return cls(sums[4:].tolist(), *sums[:4].tolist())


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
    counts: Sequence[int], samples: int, checkins: int, noise_variance: float
) -> tuple[Estimate, ...]:
    """Σn̂_y^k/Σn_s for each class, with the same kind of margin."""
    estimates = (error_estimate(count, samples, checkins, noise_variance) for count in counts)
    return tuple(estimate for estimate in estimates if estimate is not None)
