"""What pages tell of a task, the same before it exists and while it runs."""

from dataclasses import dataclass

from crowdml.portal.hiding import Hiding, Slider, hiding, sliders
from crowdml.protocol import Promise, Task, Terms, terms_hash
from crowdml.server.learner import Learner

__all__ = ["Description"]


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
        """How many parameters the model has."""
        return self.terms.make_model().size

    @property
    def promise(self) -> Promise:
        return self.terms.promise

    @property
    def private_bytes(self) -> int:
        """The most bytes of a check-in that depend on samples."""
        return self.terms.mechanism().private_bytes

    @property
    def sliders(self) -> tuple[Slider, ...]:
        return sliders(self.terms)

    @property
    def hiding(self) -> Hiding:
        """At the task's own settings."""
        return hiding(self.terms, **{slider.name: slider.start for slider in self.sliders})
