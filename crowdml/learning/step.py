"""Compute what one check-in does to the state of a task, live and in simulations."""

import math
from typing import NamedTuple

import numpy as np

from crowdml.learning.evidence import Evidence
from crowdml.learning.reports import Reports
from crowdml.learning.state import LearningState
from crowdml.learning.stopping import StoppingRule
from crowdml.learning.totals import Totals
from crowdml.learning.usual_length import UsualLength
from crowdml.optim import Optimizer
from crowdml.privacy import CheckinEstimates, Mechanism, StandIn
from crowdml.protocol import Task
from crowdml.types import Array

NO_TOTALS = Totals()


class CheckinStep(NamedTuple):
    """Run Server Routine 2 as a pure function of a state and the estimates of one check-in.

    Args:
        optimizer: How w changes; it projects and averages, too.
        limit: The longest gradient before lengths are known; None where lengths are not limited.
        stopping: When the target error is reached; None without a target error.

    >>> from crowdml.optim import constant, sgd
    >>> step = CheckinStep(sgd(constant(0.5)), limit=2.0)
    >>> start = step.start(2)
    >>> step(start, CheckinEstimates(g=np.array([3.0, 4.0])), device=0).w    # shortened to length 2
    array([-0.6, -0.8])
    >>> start.w
    array([0., 0.])

    Paper: Algorithm 2.
    """

    optimizer: Optimizer
    limit: float | None = None
    stopping: StoppingRule | None = None

    @classmethod
    def of(cls, task: Task, mechanism: Mechanism) -> "CheckinStep":
        """Make the step of a task."""
        return cls(
            task.make_optimizer(),
            length_limit(mechanism),
            StoppingRule.of(task, mechanism),
        )

    def start(
        self, size: int, totals: Totals = NO_TOTALS, w0: Array | None = None
    ) -> LearningState:
        """Make the state before the first check-in.

        w starts at `w0`, or at zero. The risks are convex, and a start without randomness lets
        anyone who has the log reproduce the result.
        """
        w = np.zeros(size) if w0 is None else w0
        return LearningState(
            version=0,
            w=w,
            optimizer=self.optimizer.init(w),
            totals=totals,
            reports=Reports(),
            usual=None if self.limit is None else UsualLength(self.limit),
            evidence=self.no_evidence,
        )

    @property
    def no_evidence(self) -> Evidence | None:
        return None if self.stopping is None else Evidence(self.stopping)

    def __call__(
        self,
        state: LearningState,
        estimates: CheckinEstimates,
        device: int,
        samples: int | None = None,
        staleness: int = 0,
    ) -> LearningState:
        """Return the state after one more check-in.

        Args:
            state: The state before it, which stays as it is.
            estimates: What the mechanism reads from the check-in.
            device: The number of the device that sent it.
            samples: How many samples are behind it, where devices say so.
            staleness: How many versions late it is.
        """
        version, w, optimizer, totals, reports, usual, evidence, reached, latest = state
        g, evaluated, errors, reported_errors, _, _ = estimates
        if g is not None:
            if usual is not None:
                usual, g = usual.shorten(g)
            optimizer, w = self.optimizer.update(optimizer, w, g, device)
        totals = totals.plus(estimates, samples, staleness)
        if evaluated:
            reports = reports.with_report(version - staleness, device, errors, evaluated)
            if evidence is not None and self.stopping is not None:
                evidence = evidence.with_report(device, reported_errors, evaluated)
                if self.stopping.is_due(totals.evaluations):
                    reached = reached or evidence.conclusive
        return LearningState(
            version + 1,
            w,
            optimizer,
            totals,
            reports,
            usual,
            evidence,
            reached,
            max(latest, staleness),
        )


def length_limit(mechanism: Mechanism | StandIn) -> float | None:
    """Return the longest honest gradient at the start, allowing noise of three usual lengths.

    None where all gradients, honest or not, have about the same length.
    """
    if not mechanism.lengths_vary:
        return None
    return mechanism.length + 3 * math.sqrt(mechanism.noise_energy)
