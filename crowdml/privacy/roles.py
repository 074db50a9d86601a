"""Decide by a public rule which check-ins train, which evaluate and which count."""

from dataclasses import dataclass

from crowdml.errors import InvalidInput
from crowdml.privacy.checkin_key import WORD, CheckinKey
from crowdml.privacy.events import Role

LARGEST_SHARE = 0.9
"""At least one check-in in ten trains."""


@dataclass(frozen=True)
class Roles:
    """Hold the shares of check-ins that evaluate and that count.

    Args:
        evaluators: The share that sends whether the model was right about one sample.
        counters: The share that sends the answer of one sample.

    >>> roles = Roles(evaluators=0.15, counters=0.05)
    >>> roles.share(Role.TRAIN)
    0.8
    >>> roles.role_of(CheckinKey("terms", "device", 1))
    <Role.TRAIN: 'train'>
    """

    evaluators: float = 0.0
    counters: float = 0.0

    def __post_init__(self) -> None:
        shares = self.evaluators >= 0 and self.counters >= 0
        if not (shares and self.others <= LARGEST_SHARE * (1 + 1e-9)):
            raise InvalidInput(
                "evaluators and counters must be shares that add up to at most "
                f"{LARGEST_SHARE:g}, found {self.evaluators:g} and {self.counters:g}."
            )

    @property
    def others(self) -> float:
        """Return the share of check-ins that do not train."""
        return self.evaluators + self.counters

    def share(self, role: Role) -> float:
        """Return the share of check-ins that have this role."""
        shares = {Role.EVALUATE: self.evaluators, Role.COUNT: self.counters}
        return shares.get(role, 1 - self.others)

    def role_of(self, key: CheckinKey) -> Role:
        """Return the role of a check-in, which is public and not chosen by the device."""
        draw = key.draw("role")
        if draw < self.evaluators * WORD:
            return Role.EVALUATE
        return Role.COUNT if draw < self.others * WORD else Role.TRAIN


ALL_TRAIN = Roles()
"""No check-in evaluates or counts."""
