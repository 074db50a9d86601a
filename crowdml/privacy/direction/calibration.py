"""Compute the cost, the choices and the variance of a direction from public numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from crowdml.errors import InvalidInput
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.choice import Choice
from crowdml.privacy.events import DirectionEvent, Role
from crowdml.privacy.loss import Unit
from crowdml.privacy.mechanism import ErrorCountLaw, Mechanism
from crowdml.privacy.roles import ALL_TRAIN, Roles

LENGTH = 0.3
"""S·b: an average gradient this long or longer counts as a direction alone."""


@dataclass(frozen=True)
class DirectionCalibration(Mechanism):
    """Give each check-in a role, and each role its choice among numbers.

    Args:
        epsilon: ε of one check-in.
        directions: k.
        closest: t.
        size: d, the number of parameters.
        n_classes: C; 0 for a real target.
        batch: b.
        checkins: K, the most check-ins of a device.
        roles: The shares of check-ins that evaluate and that count.
        scale: The typical size of a real target; 1 for labels.
        regularization: λ.
    """

    epsilon: float
    directions: int
    closest: int
    size: int
    n_classes: int = 0
    batch: int = 1
    checkins: int = 1
    roles: Roles = ALL_TRAIN
    scale: float = 1.0
    regularization: float = 0.0

    unit: ClassVar[Unit] = Unit.CHECKIN
    norm: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Reject numbers with which no choice is possible."""
        if self.roles.counters and not self.n_classes:
            raise InvalidInput(
                "counters must be 0 where a number is predicted, because there are no answers to "
                f"count, found {self.roles.counters:g}."
            )
        _ = self.choice, self.choice_of(Role.EVALUATE)

    @cached_property
    def choice(self) -> Choice:
        """Return the choice of a check-in that trains."""
        return Choice(self.directions, self.closest, self.epsilon)

    def choice_of(self, role: Role) -> Choice:
        """Return the choice of a check-in with this role."""
        return self.choice if role is Role.TRAIN else self._responses[role]

    @cached_property
    def _responses(self) -> dict[Role, Choice]:
        numbers = {Role.EVALUATE: 2, Role.COUNT: max(self.n_classes, 2)}
        return {role: Choice(k, 1, self.epsilon) for role, k in numbers.items()}

    @property
    def private_bytes(self) -> int:
        return len(str(max(self.choice_of(role).k for role in Role) - 1))

    def role(self, key: CheckinKey) -> Role:
        return self.roles.role_of(key)

    def event(self, n_samples: int, key: CheckinKey) -> DirectionEvent:
        return DirectionEvent(key.number, self.role(key), self.epsilon)

    @property
    def length(self) -> float:
        return LENGTH * self.scale / self.batch

    @property
    def lengths_vary(self) -> bool:
        """Return False: all codewords have about the same length."""
        return False

    @cached_property
    def noise_energy(self) -> float:
        return self.size * (self.length / self.choice.pull) ** 2

    @cached_property
    def error_variance(self) -> float:
        """Compute q(1 − q)/(p − q)², which is the same for a right and for a wrong prediction."""
        return self._variance(Role.EVALUATE, self.choice_of(Role.EVALUATE).unlikely)

    def error_count_law(self, error: float, evaluated: int) -> ErrorCountLaw:
        choice = self.choice_of(Role.EVALUATE)
        gap = choice.likely - choice.unlikely
        return ErrorCountLaw(
            mean=evaluated * (choice.unlikely + error * gap),
            noise=evaluated * choice.unlikely * (1 - choice.unlikely),
            sampling=evaluated * gap**2 * error * (1 - error),
        )

    @cached_property
    def label_variance(self) -> float:
        if not self.n_classes:
            return 0.0
        choice = self.choice_of(Role.COUNT)
        return max(self._variance(Role.COUNT, each) for each in (choice.likely, choice.unlikely))

    def _variance(self, role: Role, probability: float) -> float:
        """Return the variance of the estimate from a number sent with this probability."""
        choice = self.choice_of(role)
        return probability * (1 - probability) / (choice.likely - choice.unlikely) ** 2

    @property
    def evaluates(self) -> bool:
        return self.roles.evaluators > 0

    @property
    def counts_labels(self) -> bool:
        return self.roles.counters > 0

    @property
    def truth_probability(self) -> dict[Role, float]:
        return {role: self.choice_of(role).p for role in Role if self.roles.share(role) > 0}

    @property
    def operations(self) -> int:
        return self.directions * self.size
