"""Describe one curve: who takes part, how the crowd learns, and where the samples go."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

from crowdml.errors import InvalidInput
from crowdml.protocol import MECHANISMS
from crowdml.simulation.crowd_settings import Crowd, Learning

APPROACHES = ("crowd", "central-batch", "central-sgd", "decentral")


@dataclass(frozen=True)
class Plan:
    """Describe one curve to be simulated.

    Args:
        crowd: Who takes part. Central approaches have no delays, and b is the server's minibatch.
        learning: How it learns. Where all data are in one place, ε protects the samples sent
            there; where every device learns alone, nothing is sent and there is no noise.
        approach: crowd, central-batch, central-sgd or decentral.
    """

    crowd: Crowd
    learning: Learning
    approach: str = "crowd"

    def __post_init__(self) -> None:
        if self.approach not in APPROACHES:
            raise InvalidInput(
                f"approach must be one of {', '.join(APPROACHES)}, found {self.approach!r}."
            )
        if self.crowd.pilot is not None and self.learning.start is not None:
            raise InvalidInput("a plan has a pilot or a start, found both. Leave one of them out.")
        if self.crowd.liars and (self.approach != "crowd" or math.isinf(self.learning.epsilon)):
            raise InvalidInput(
                f"liars are simulated for a crowd with an ε, found {self.approach} with "
                f"ε = {self.learning.epsilon:g}. Leave liars out."
            )

    @property
    def central(self) -> bool:
        """Return whether samples are perturbed and sent to one place."""
        return self.approach.startswith("central")

    @property
    def certain(self) -> bool:
        """Return whether the result is the same in each trial, given the data."""
        drawn = self.crowd.pilot is not None or not math.isinf(self.learning.epsilon)
        return self.approach == "central-batch" and not drawn

    @property
    def norm(self) -> int:
        """Return the norm in which devices bound features."""
        return MECHANISMS[self.learning.mechanism].terms.norm

    @property
    def shared(self) -> Hashable:
        """Return a key: plans with equal keys share perturbed samples and schedules in a trial."""
        if self.certain:
            return self
        if self.central:
            return self.learning.epsilon, self.crowd.pilot, self.crowd.pilot_people
        return self.approach, self.crowd
