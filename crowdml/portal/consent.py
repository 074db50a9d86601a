"""What a participant decides on besides the promise: who can be asked, and how long it takes."""

import re
from dataclasses import dataclass

from crowdml.portal.language import say
from crowdml.protocol import Terms

__all__ = ["Consent"]

MAIL = re.compile(r"[^\s@:/?]+@[^\s@:/?]+\.[^\s@:/?]+")
SITE = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True)
class Consent:
    """The answers that follow from the terms, for the usual limit."""

    terms: Terms

    @property
    def address(self) -> str:
        """Where the contact leads; empty if it is neither a mail address nor a page."""
        contact = self.terms.contact
        if MAIL.fullmatch(contact):
            return f"mailto:{contact}"
        return contact if SITE.fullmatch(contact) else ""

    @property
    def sensed(self) -> str:
        """The beginning of a sentence about a browser's sensor."""
        return {
            "motion": say("This browser reads the accelerometer"),
            "sound": say("This browser reads how loud the microphone is and keeps no sound"),
            "light": say("This browser reads the light sensor"),
            "speed": say("This browser reads the speed from the location service, no place"),
            "manual": say("This browser takes the numbers that you type in"),
        }[self.terms.features.sensor.kind if self.terms.features.sensor else "manual"]

    @property
    def checkins(self) -> int:
        """The number of check-ins after which a device stops, unless the participant changes it."""
        return self.terms.promise.checkins

    @property
    def seconds(self) -> float | None:
        """Until a browser's sensor has filled a check-in; None where samples come otherwise."""
        sensor = self.terms.features.sensor
        if sensor is None or sensor.kind == "manual":
            return None
        return sensor.window / sensor.rate + self.terms.collection.batch * sensor.every

    def time(self, checkins: int = 1) -> str:
        return _time(checkins * (self.seconds or 0.0))


def _time(seconds: float) -> str:
    """
    >>> _time(42), _time(1203.2), _time(24064), _time(3 * 86400)
    ('42 seconds', '20 minutes', '6 hours 41 minutes', '3 days')
    """
    minutes = round(seconds / 60)
    if seconds < 1.5:
        return say("1 second")
    if seconds < 90:
        return say("{n} seconds", n=round(seconds))
    if minutes < 120:
        return say("{n} minutes", n=minutes)
    if minutes < 48 * 60:
        hours, rest = say("{n} hours", n=minutes // 60), minutes % 60
        return f"{hours} {say('{n} minutes', n=rest)}" if rest > 1 else hours
    return say("{n} days", n=round(minutes / 1440))
