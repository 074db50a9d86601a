"""Provide the check-in types of the built-in mechanisms, which programs make on demand."""

from typing import TYPE_CHECKING

from crowdml.privacy import Directed, Noisy
from crowdml.protocol import checkin_type

__all__ = ["DirectedCheckin", "NoisyCheckin"]

if TYPE_CHECKING:

    class NoisyCheckin(Noisy, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

    class DirectedCheckin(Directed, frozen=True, kw_only=True):
        id: str
        version: int
        terms: str

else:
    NoisyCheckin = checkin_type(Noisy)
    DirectedCheckin = checkin_type(Directed)
