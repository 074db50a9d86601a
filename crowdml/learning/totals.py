"""Add up N_s, N_e and N_y^k of a task, and estimate shares from them."""

import math
from collections.abc import Sequence
from operator import add
from typing import NamedTuple

import numpy as np

from crowdml.privacy import CheckinEstimates
from crowdml.protocol import Estimate
from crowdml.types import Array

TWO_SIDED_95 = 1.959964


class Totals(NamedTuple):
    """Hold sums over all devices; sums of one device are read from the log.

    Args:
        labels: Σn̂_y^k for each class.
        samples: Σn_s; None where devices do not send it.
        evaluated: The predictions behind Σn̂_e.
        evaluations: The check-ins behind it.
        errors: Σn̂_e.
        labelled: The samples behind Σn̂_y.
        countings: The check-ins behind it.
        staleness: Versions late, summed over check-ins.

    Paper: Algorithm 2, Server Routine 2.
    """

    labels: tuple[float, ...] = ()
    samples: int | None = 0
    evaluated: int = 0
    evaluations: int = 0
    errors: float = 0.0
    labelled: int = 0
    countings: int = 0
    staleness: int = 0

    def plus(self, estimates: CheckinEstimates, samples: int | None, staleness: int) -> "Totals":
        """Add one check-in."""
        labels = self.labels
        if estimates.labels:
            labels = tuple(map(add, labels, estimates.labels))
        return Totals(
            labels,
            None if self.samples is None or samples is None else self.samples + samples,
            self.evaluated + estimates.evaluated,
            self.evaluations + (estimates.evaluated > 0),
            self.errors + estimates.errors,
            self.labelled + estimates.labelled,
            self.countings + (estimates.labelled > 0),
            self.staleness + staleness,
        )

    def to_array(self) -> Array:
        sums = (self.samples, self.evaluated, self.evaluations, self.errors)
        more = (self.labelled, self.countings, self.staleness)
        return np.array([*sums, *more, *self.labels], dtype=np.float64)

    @classmethod
    def from_array(cls, sums: Array) -> "Totals":
        samples, evaluated, evaluations, errors, labelled, countings, staleness = sums[:7].tolist()
        return cls(
            tuple(sums[7:].tolist()),
            None if math.isnan(samples) else int(samples),
            int(evaluated),
            int(evaluations),
            errors,
            int(labelled),
            int(countings),
            int(staleness),
        )


def share_estimate(
    count: float, samples: int, checkins: int, noise_variance: float, z: float = TWO_SIDED_95
) -> Estimate | None:
    """Estimate Σn̂/Σn with its uncertainty: the noise of every count, and the sampling.

    The margin reaches to the farther end of all p with (value − p)² ≤ z²·(noise + p(1 − p))/n,
    which also holds for few samples and for an error near 0.

    Paper: Appendix, Remark 2 (Eq. 14). Reference: E. B. Wilson, JASA 22 (1927).

    >>> round(share_estimate(120, samples=1000, checkins=50, noise_variance=0.0).margin, 4)
    0.0216
    >>> round(share_estimate(120, samples=1000, checkins=50, noise_variance=800.0).margin, 4)
    0.3932
    >>> share_estimate(0, samples=1, checkins=1, noise_variance=0.0).margin > 0.7
    True
    """
    if not samples:
        return None
    value, noise, width = count / samples, checkins * noise_variance / samples, z**2 / samples
    middle = (value + width / 2) / (1 + width)
    # Noise can push a share below 0 or above 1. No p explains that, but the margin stays valid.
    spread = max(value * (1 - value), 0.0) + width / 4 + noise * (1 + width)
    return Estimate(value, abs(middle - value) + math.sqrt(width * spread) / (1 + width))


def label_estimates(
    counts: Sequence[float], samples: int, checkins: int, noise_variance: float
) -> tuple[Estimate, ...]:
    """Estimate Σn̂_y^k/Σn_s for each class, with the same kind of margin."""
    estimates = (share_estimate(count, samples, checkins, noise_variance) for count in counts)
    return tuple(estimate for estimate in estimates if estimate is not None)
