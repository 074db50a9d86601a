"""What a task promises to those who take part, for the unit that it protects, in plain words."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from crowdml.portal import words
from crowdml.portal.language import say
from crowdml.privacy import PRIVATE_UP_TO
from crowdml.protocol import Terms

__all__ = ["LEVELS", "Level", "Promise"]


class Level(NamedTuple):
    """A plain-language level of privacy.

    Args:
        most: The largest ε that is called so.
        name: What it is called.
        key: Its colour.
        meaning: What can be learnt, with {whom} for what is protected.
    """

    most: float
    name: str
    key: str
    meaning: str


LEVELS = [
    Level(0.1, "Very strong", "strong", "Next to nothing can be learnt about {whom}."),
    Level(1.0, "Strong", "strong", "Little can be learnt about {whom}."),
    Level(4.0, "Moderate", "medium", "A guess about {whom} can become much better."),
    Level(10.0, "Weak", "weak", "A guess about {whom} can become nearly certain."),
    Level(PRIVATE_UP_TO, "Very weak", "weak", "Hardly any protection for {whom}."),
    Level(math.inf, "Not private", "none", "Nothing is protected."),
]


@dataclass(frozen=True)
class Promise:
    """How much everything that leaves a device can tell, at most.

    Args:
        whole: Whether it is for all that a person contributes, and not for one sample.
        epsilon: ε of that, in all.
        delta: δ, where the promise has one.
        shared: The most samples that one reading is in, if the promise is for samples.
        per_reading: ε of a reading, where it is in several.

    >>> Promise(whole=True, epsilon=4.0).sentence
    'Whatever you contribute, in all: ε = 4.'
    >>> Promise(whole=False, epsilon=2.0, delta=1e-6).sentence
    'For each sample: ε = 2, with δ = 1e-06.'
    """

    whole: bool
    epsilon: float
    delta: float = 0.0
    shared: int = 1
    per_reading: float = 0.0

    @classmethod
    def of(cls, terms: Terms) -> "Promise":
        in_all = terms.epsilon_in_all
        delta = terms.event(terms.collection.batch).loss.delta
        if in_all is None:
            cost = terms.epsilon_per_sample
            return cls(False, cost, delta, terms.shared, terms.epsilon_per_reading)
        return cls(True, in_all, delta)

    @property
    def private(self) -> bool:
        return self.level.key != "none"

    @property
    def level(self) -> Level:
        epsilon = max(self.epsilon, self.per_reading)
        found = next(level for level in LEVELS if epsilon <= level.most * (1 + 1e-9))
        return found._replace(
            name=say(found.name), meaning=say(found.meaning).format(whom=self.whom)
        )

    @property
    def whom(self) -> str:
        return say("you") if self.whole else say("any one sample")

    @property
    def short(self) -> str:
        """For lists."""
        epsilon = words.epsilon(self.epsilon)
        return say("ε = {epsilon} in all", epsilon=epsilon) if self.whole else f"ε = {epsilon}"

    @property
    def sentence(self) -> str:
        unit = say("Whatever you contribute, in all") if self.whole else say("For each sample")
        delta = (
            say(", with δ = {delta}", delta=f"{self.delta:g}")
            if self.delta and self.private
            else ""
        )
        return f"{unit}: ε = {words.epsilon(self.epsilon)}{delta}.{self.readings}"

    @property
    def readings(self) -> str:
        """What one that is in several samples loses, after a sentence; empty if none is."""
        if self.shared == 1 or not math.isfinite(self.epsilon):
            return ""
        return " " + say(
            "One reading is in up to {n} samples: for a reading, ε = {epsilon}.",
            n=self.shared,
            epsilon=words.epsilon(self.per_reading),
        )

    @property
    def why_not(self) -> str:
        """Why it promises nothing, as a sentence; empty for what is private."""
        if self.private:
            return ""
        if math.isinf(self.epsilon):
            return say("It sends exact numbers (ε = ∞), and samples could be worked out from them.")
        return say(
            "It has ε = {epsilon} for {whom}, and above {most} nothing is protected: a guess can "
            "become certain.",
            epsilon=words.epsilon(max(self.epsilon, self.per_reading)),
            whom=self._unit,
            most=words.epsilon(PRIVATE_UP_TO),
        )

    @property
    def _unit(self) -> str:
        if self.whole:
            return say("a person")
        return say("a sample") if self.shared == 1 else say("a reading")

    @property
    def guess(self) -> str:
        """What ε means for someone who is curious."""
        values = {"sure": words.certainty(self.epsilon), "but": words.but_for(self.delta)}
        if self.whole:
            return say(
                "Someone with a fifty-fifty guess about you can become at most {sure} sure{but}, "
                "from everything that your device ever sends.",
                **values,
            )
        return say(
            "Someone with a fifty-fifty guess about any one sample can become at most {sure} "
            "sure{but}, from everything that your device sends about it.",
            **values,
        )
