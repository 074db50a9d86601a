"""Describe to people what a mechanism does: a picture of its probabilities, and one payload.

These are plain values, computed from public numbers or on the participant's own device. Pages draw
them; nothing here decides what leaves a device.
"""

from crowdml.privacy.shown.payload import ShownChoice, ShownNumber, ShownPayload, WatchedMinibatch
from crowdml.privacy.shown.picture import Dial, HidingPicture, Hills

__all__ = [
    "Dial",
    "HidingPicture",
    "Hills",
    "ShownChoice",
    "ShownNumber",
    "ShownPayload",
    "WatchedMinibatch",
]
