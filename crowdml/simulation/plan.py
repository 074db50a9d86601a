"""What one curve stands for: who takes part, how it is learnt, and where the samples go."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

from crowdml.errors import InvalidInput
from crowdml.protocol import MECHANISMS
from crowdml.simulation.settings import Crowd, Learning

APPROACHES = ("crowd", "central-batch", "central-sgd", "decentral")


@dataclass(frozen=True)
class Plan:
    """One curve to be drawn.

    Args:
        crowd: Who takes part. Central approaches have no delays, and b is the server's minibatch.
        learning: How it learns. Where all data are in one place, ε is that of the samples sent
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
        """Whether samples are perturbed and sent to one place."""
        return self.approach.startswith("central")

    @property
    def certain(self) -> bool:
        """Whether nothing is left to chance, given the data."""
        drawn = self.crowd.pilot is not None or not math.isinf(self.learning.epsilon)
        return self.approach == "central-batch" and not drawn

    @property
    def norm(self) -> int:
        """That in which devices bound features."""
        return MECHANISMS[self.learning.mechanism].terms.norm

    @property
    def shared(self) -> Hashable:
        """Plans that agree in this run together: a trial perturbs or schedules samples once."""
        if self.certain:
            return self
        if self.central:
            return self.learning.epsilon, self.crowd.pilot, self.crowd.pilot_people
        return self.approach, self.crowd
