"""Send averages and counts with exact noise of integers.

A change to the sensitivity, the grid or the noise needs a proof in docs/privacy.md and an audit.
The stand-in draws the same law, fast, for simulated crowds; it never touches a real sample.
"""

from crowdml.privacy.noise.calibration import NoiseLevels
from crowdml.privacy.noise.channel import NoisePayload
from crowdml.privacy.noise.grid import choose_grid, quantize, sensitivity_steps
from crowdml.privacy.noise.mechanism import NoiseMechanism

__all__ = [
    "NoiseLevels",
    "NoiseMechanism",
    "NoisePayload",
    "choose_grid",
    "quantize",
    "sensitivity_steps",
]
