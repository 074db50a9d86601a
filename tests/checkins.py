"""The check-ins of the built-in mechanisms, as types: programs make them when they are needed."""

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
