"""Send one number that names a direction, a right or wrong prediction, or an answer.

A change to what a device draws or sends needs a proof in docs/privacy.md and an audit. The stand-in
draws the same law, fast, for simulated crowds; it never touches a real sample.
"""

from crowdml.privacy.direction.channel import DirectionPayload, role_of
from crowdml.privacy.direction.codebook import Codebook
from crowdml.privacy.direction.mechanism import DirectionMechanism

__all__ = ["Codebook", "DirectionMechanism", "DirectionPayload", "role_of"]
