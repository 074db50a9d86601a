"""What pages tell of a task, the same before it exists and while it runs."""

from dataclasses import dataclass

from crowdml.errors import Rejected
from crowdml.portal import words
from crowdml.portal.noise_picture import Hiding, hiding
from crowdml.privacy import Forecast
from crowdml.protocol import Task, Terms, terms_hash
from crowdml.server.learner import Learner

__all__ = ["Description"]

SLIDERS = (0.01, 100.0)
"""The ends of the slider for ε."""


@dataclass(frozen=True)
class Description:
    """A task for people.

    Args:
        task: The task.
        terms_text: The text that devices pin.
    """

    task: Task
    terms_text: str

    @classmethod
    def of(cls, learner: Learner) -> "Description":
        return cls(learner.task, learner.terms)

    @property
    def terms(self) -> Terms:
        return self.task.terms

    @property
    def terms_sha256(self) -> str:
        return terms_hash(self.terms_text)

    @property
    def size(self) -> int:
        """How many numbers a gradient has."""
        return self.terms.make_model().size

    @property
    def level(self) -> words.Level:
        return words.level(self.terms)

    @property
    def forecast(self) -> Forecast | None:
        return self.task.forecast()

    @property
    def hiding(self) -> Hiding | None:
        """None where the task's shares of ε leave too little for one of its parts to be drawn."""
        low, high = SLIDERS
        epsilon = self.terms.epsilon_per_sample if self.terms.private else 1.0
        try:
            return hiding(self.terms, min(max(epsilon, low), high), self.terms.collection.batch)
        except Rejected:
            return None
