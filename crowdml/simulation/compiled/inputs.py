"""Prepare the inputs of the compiled fold: samples in the order of use, settings as numbers."""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.types import Ints

Float32s: TypeAlias = npt.NDArray[np.float32]

MODELS = {"softmax": 0, "hinge": 1, "ridge": 2, "huber": 3}
OPTIMIZERS = {
    "sqrt": 0, "constant": 1, "planned": 1, "inverse": 2, "adagrad": 3, "dual-averaging": 4,
}  # fmt: skip
LAWS = {"laplace": 0, "gaussian": 1, "direction": 2}

SOFTMAX, HINGE, RIDGE, HUBER = range(4)
SQRT, CONSTANT, INVERSE, ADAGRAD, DUAL_AVERAGING = range(5)
LAPLACE, GAUSSIAN, DIRECTION = range(3)

BLOCK = 4
"""Features, or samples, that are taken together, so that the processor has sums to overlap."""

ZERO, ONE = np.float32(0.0), np.float32(1.0)
UNLIMITED = np.float32(1e30)


@njit(nogil=True, cache=True)
def gather(x, used, intercept, norm, bounded):  # type: ignore[no-untyped-def]
    """Copy the samples in the order of their use, in single precision, with their lengths.

    Rows are padded with zeros to a multiple of BLOCK. Samples are rescaled to ‖x‖ = 1 if they are
    longer, as devices do it, where `bounded` says so. With an intercept, each then has a feature
    more, which is 1. One pass and no copies in between: the samples are most of what a simulation
    keeps in memory.
    """
    n_features = x.shape[1]
    width = -(-(n_features + intercept) // BLOCK) * BLOCK
    wide = np.zeros((len(used), width), np.float32)
    lengths = np.empty(len(used), np.float32)
    for i in range(len(used)):
        row, into = x[used[i]], wide[i]
        length = 0.0
        if norm == 1:
            for j in range(n_features):
                length += abs(row[j])
        else:
            for j in range(n_features):
                length += row[j] * row[j]
            length = math.sqrt(length)
        divisor = length if bounded and length > 1.0 else 1.0
        length /= divisor
        for j in range(n_features):
            into[j] = row[j] / divisor
        if intercept:
            wide[i, n_features] = 1.0
            length = length + 1.0 if norm == 1 else math.sqrt(length * length + 1.0)
        lengths[i] = length
    return wide, lengths


class OrderedSamples(NamedTuple):
    """Hold the samples in the order of their use, so that memory is read in one sweep.

    Args:
        x: The samples, as `gather` makes them.
        lengths: Their ‖x‖ in the norm.
        y: Their labels or targets, float32.
        start: The first sample of each check-in, and the end of the last check-in's samples.
        version: The version of the parameters that each check-in was computed on.
        draws: For each check-in, what else is random: for a direction z or the rank of a codeword,
            and a uniform number; for noise 0, or the size of each number that a liar sends.
    """

    x: Float32s
    lengths: Float32s
    y: Float32s
    start: Ints
    version: Ints
    draws: Float32s


class FoldSetting(NamedTuple):
    """Describe how a check-in becomes a gradient, and a gradient a step.

    Args:
        model: One of MODELS.
        n_features: D, without the padding.
        n_scores: K.
        delta, tolerance: Of regression.
        norm: 1 or 2, in which gradients are clipped.
        clip: S of one sample's gradient.
        regularization: λ.
        law: One of LAWS.
        scales: The scale of the noise for each number of samples n; 0 for no noise.
        length: S of an average gradient that is sent as a direction.
        ranked: How many codewords are drawn and ranked for a direction; 0 if one stands for all.
        limit: The longest gradient before ten lengths are known; negative where lengths are not
            limited.
        optimizer: One of OPTIMIZERS.
        c: The rate's constant.
        radius: R.
        averaging: The power of the average of iterates, or a negative number for none.
        w0: The start of w: K×D in rows, as `fold` returns it.
    """

    model: int
    n_features: int
    n_scores: int
    delta: np.float32
    tolerance: np.float32
    norm: int
    clip: np.float32
    regularization: np.float32
    law: int
    scales: Float32s
    length: np.float32
    ranked: int
    limit: np.float32
    optimizer: int
    c: float
    radius: float
    averaging: float
    w0: Float32s
