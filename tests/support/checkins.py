"""Provide the check-in types of the built-in mechanisms, which programs make on demand."""

from typing import TYPE_CHECKING

from crowdml.privacy import DirectionMessage, NoiseMessage
from crowdml.protocol import checkin_type

__all__ = ["DirectionCheckin", "NoiseCheckin"]

if TYPE_CHECKING:

    class NoiseCheckin(NoiseMessage, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

    class DirectionCheckin(DirectionMessage, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

else:
    NoiseCheckin = checkin_type(NoiseMessage)
    DirectionCheckin = checkin_type(DirectionMessage)
