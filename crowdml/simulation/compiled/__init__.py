"""Fold a simulated crowd in code compiled by Numba, with its own noise.

Tests hold this fold to the slow fold bit by bit. It is never used on real samples.
"""

from crowdml.simulation.compiled.fast_noise import seed_streams
from crowdml.simulation.compiled.inputs import (
    LAWS,
    MODELS,
    OPTIMIZERS,
    Float32s,
    FoldSetting,
    OrderedSamples,
    gather,
)
from crowdml.simulation.compiled.kernel import fold

__all__ = [
    "LAWS",
    "MODELS",
    "OPTIMIZERS",
    "Float32s",
    "FoldSetting",
    "OrderedSamples",
    "fold",
    "gather",
    "seed_streams",
]
