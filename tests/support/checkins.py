"""Provide the check-in types of the built-in mechanisms, which programs make on demand."""

from typing import TYPE_CHECKING

from crowdml.privacy import DirectionPayload, NoisePayload
from crowdml.protocol import checkin_type

if TYPE_CHECKING:

    class NoiseCheckin(NoisePayload, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

    class DirectionCheckin(DirectionPayload, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

else:
    NoiseCheckin = checkin_type(NoisePayload)
    DirectionCheckin = checkin_type(DirectionPayload)
