"""The fold of a simulated crowd, compiled by Numba, with noise of its own.

Held bit by bit to the slow fold by tests; never used on real samples.
"""

from crowdml.simulation.compiled.fast_noise import seed_streams
from crowdml.simulation.compiled.inputs import (
    LAWS,
    MODELS,
    OPTIMIZERS,
    Checkins,
    Float32s,
    FoldSetting,
    gather,
)
from crowdml.simulation.compiled.kernel import fold

__all__ = [
    "LAWS",
    "MODELS",
    "OPTIMIZERS",
    "Checkins",
    "Float32s",
    "FoldSetting",
    "fold",
    "gather",
    "seed_streams",
]
