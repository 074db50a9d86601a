"""Describe a task for its pages: the same in the preview and while the task runs."""

import re
from dataclasses import dataclass

from crowdml.portal.pictures import Hiding, Slider, hiding, sliders
from crowdml.portal.words import plain, say
from crowdml.protocol import PRIVACY_LEVELS, Promise, Task, Terms, terms_hash
from crowdml.server.log import Learner

MAIL = re.compile(r"[^\s@:/?]+@[^\s@:/?]+\.[^\s@:/?]+")
ROUNDING_FACTOR = 1 + 1e-9
SITE = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True)
class Description:
    """Hold a task, and the text of its terms that devices keep."""

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
    def promise(self) -> Promise:
        return self.terms.promise

    @property
    def sliders(self) -> tuple[Slider, ...]:
        return sliders(self.terms)

    @property
    def levels(self) -> list[tuple[float, str]]:
        """Return the largest ε and the name of each level; above the last, nothing is private."""
        return [(level.most, say(level.pill)) for level in PRIVACY_LEVELS[:-1]]

    def spoken(self, epsilon: float) -> str:
        """Write an ε for people who hear a slider instead of seeing it: “4: Moderate privacy”."""
        name = next(name for most, name in self.levels if epsilon <= most * ROUNDING_FACTOR)
        return f"{plain.epsilon(epsilon)}: {name}"

    @property
    def hiding(self) -> Hiding:
        """Return the picture of the mechanism at the task's own settings."""
        settings = {slider.name: slider.start for slider in self.sliders}
        return hiding(self.terms, **settings).illustration()

    @property
    def address(self) -> str:
        """Return the link to the contact; empty if it is neither a mail address nor a page."""
        contact = self.terms.contact
        if MAIL.fullmatch(contact):
            return f"mailto:{contact}"
        return contact if SITE.fullmatch(contact) else ""

    @property
    def seconds(self) -> float | None:
        """Return how long a browser's sensor takes to fill a check-in; None without a sensor."""
        sensor = self.terms.features.sensor
        if sensor is None or sensor.registered.typed_in:
            return None
        return sensor.window / sensor.rate + self.terms.collection.batch * sensor.every

    def time(self, checkins: int = 1) -> str:
        return _time(checkins * (self.seconds or 0.0))


def _time(seconds: float) -> str:
    """Write a duration in words, a short one more finely: check-ins multiply its rounding.

    >>> _time(0.8), _time(42), _time(93), _time(1203.2), _time(24064), _time(3 * 86400)
    ('0.8 seconds', '42 seconds', '1.5 minutes', '20 minutes', '6 hours 41 minutes', '3 days')
    """
    minutes = round(seconds / 60)
    if seconds < 10:
        tenths = max(1, int(10 * seconds + 0.5))
        return say("1 second") if tenths == 10 else say("{n} seconds", n=tenths / 10)
    if seconds < 90:
        return say("{n} seconds", n=int(seconds + 0.5))
    if seconds < 600:
        return say("{n} minutes", n=int(seconds / 30 + 0.5) / 2)
    if minutes < 120:
        return say("{n} minutes", n=minutes)
    if minutes < 48 * 60:
        hours, rest = say("{n} hours", n=minutes // 60), minutes % 60
        return f"{hours} {say('{n} minutes', n=rest)}" if rest > 1 else hours
    return say("{n} days", n=round(minutes / 1440))
