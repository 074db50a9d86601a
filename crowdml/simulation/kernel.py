"""Step two, compiled: fold a schedule of check-ins into parameters.

For each check-in, in order: gradient at the version it was computed on, noise, step, projection.
Single precision, one lane (a trial of a setting) per call, no Python inside.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.simulation.bits import bits_float
from crowdml.simulation.fast_noise import fill_laplace

__all__ = ["LANES", "MODELS", "OPTIMIZERS", "fold", "pad"]

MODELS = {"softmax": 0, "hinge": 1, "ridge": 2, "huber": 3}
OPTIMIZERS = {"sqrt": 0, "constant": 1, "inverse": 2, "adagrad": 3, "dual-averaging": 4, "auto": 5}

SOFTMAX, HINGE, RIDGE, HUBER = range(4)
SQRT, CONSTANT, INVERSE, ADAGRAD, DUAL_AVERAGING, AUTO = range(6)

LANES = 32
"""Rows of samples are padded to a multiple of this, so that no loop over them has a remainder."""

LOG2E = np.float32(1.0 / math.log(2.0))


def _exp2_polynomial(degree: int = 6) -> tuple[float, ...]:
    """Coefficients, highest first, of 2^f for f in [0, 1), best at Chebyshev's points."""
    nodes = (np.cos(np.pi * (np.arange(64) + 0.5) / 64) + 1.0) / 2.0
    return tuple(np.polyfit(nodes, np.exp2(nodes), degree).astype(np.float32))


E = _exp2_polynomial()


def pad(x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Rows as the fold wants them: single precision, padded with zeros."""
    narrow = np.asarray(x, dtype=np.float32)
    width = -(-narrow.shape[1] // LANES) * LANES
    wide = np.zeros((len(narrow), width), np.float32)
    wide[:, : narrow.shape[1]] = narrow
    return wide


@njit(fastmath=True, inline="always", cache=True)
def _exp(v):  # type: ignore[no-untyped-def]
    """exp(v) for a float32 v ≤ 0, as 2^n·2^f; below 2⁻¹²⁶ it is 0."""
    x = max(v * LOG2E, np.float32(-126.0))
    n = np.floor(x)
    f = x - n
    p = np.float32(E[0])
    p = p * f + np.float32(E[1])
    p = p * f + np.float32(E[2])
    p = p * f + np.float32(E[3])
    p = p * f + np.float32(E[4])
    p = p * f + np.float32(E[5])
    p = p * f + np.float32(E[6])
    return p * bits_float(np.uint32(np.int32(n + np.float32(127.0)) << 23))


@njit(fastmath=True, nogil=True, cache=True)
def fold(  # type: ignore[no-untyped-def]
    x, n_features, y, l1_norms, start, version, model, n_scores, clip, delta, tolerance,
    optimizer, c, regularization, radius, averaging, scales, streams, stops, errors,
):  # fmt: skip
    """The parameters after `stops[i]` check-ins, one row for each i; `errors` gets n_e.

    Args:
        x: The samples in the order in which they are used, so that memory is read in one sweep;
            float32, rows padded with zeros to a multiple of LANES.
        n_features: D, without the padding.
        y: Their labels or targets, float32.
        l1_norms: Their ‖x‖₁.
        start, version: The schedule.
        model: One of MODELS.
        n_scores: K.
        clip: S.
        delta, tolerance: Of regression.
        optimizer: One of OPTIMIZERS.
        c: The rate's constant.
        regularization: λ.
        radius: R.
        averaging: The power of the average of iterates, or a negative number for none.
        scales: The Laplace scale for each number of samples n; 0 for no noise.
        streams: Generators for the noise, one per parameter.
        stops: Where to look, not decreasing.
        errors: For each check-in, how many of its samples were predicted wrongly.
    """
    width = x.shape[1]
    size = n_scores * n_features
    n_checkins = len(version)
    depth = 1
    for i in range(n_checkins):
        depth = max(depth, i - version[i] + 1)
    ring = np.zeros((depth, size), np.float32)
    longest = 1
    for i in range(n_checkins):
        longest = max(longest, start[i + 1] - start[i])
    s = np.zeros(longest * n_scores, np.float32)
    g = np.zeros(size, np.float32)
    wide_w = np.zeros((n_scores, width), np.float32)
    wide_g = np.zeros((n_scores, width), np.float32)
    scratch = np.zeros(size, np.float32)
    memory = np.zeros(size, np.float32)
    average = np.zeros(size, np.float32)
    reach, squares = 0.1, 0.0
    out = np.zeros((len(stops), size), np.float32)
    looked = 0
    while looked < len(stops) and stops[looked] == 0:
        looked += 1

    for i in range(n_checkins):
        w_then = ring[version[i] % depth]
        first, n = start[i], start[i + 1] - start[i]
        for k in range(n_scores):
            for j in range(n_features):
                wide_w[k, j] = w_then[k * n_features + j]
        errors[i] = _slopes(s, x, y, first, n, wide_w, model, delta, tolerance)
        wide_g[:] = 0.0
        for row in range(n):
            at = row * n_scores
            norm = np.float32(0.0)
            for k in range(n_scores):
                norm += abs(s[at + k])
            norm *= l1_norms[first + row]
            factor = np.float32(1.0) / np.float32(n)
            if norm > clip:
                factor *= clip / norm
            xs = x[first + row]
            for k in range(n_scores):
                m = s[at + k] * factor
                for j in range(width):
                    wide_g[k, j] += m * xs[j]
        for k in range(n_scores):
            for j in range(n_features):
                g[k * n_features + j] = wide_g[k, j]
        if regularization > 0.0:
            for j in range(size):
                g[j] += regularization * w_then[j]
        if scales[n] > 0.0:
            fill_laplace(g, scratch, scales[n], streams)

        t = i + 1
        w_now, w = ring[i % depth], ring[t % depth]
        if optimizer <= INVERSE:
            step = np.float32(_rate(optimizer, c, t))
            for j in range(size):
                w[j] = w_now[j] - step * g[j]
        elif optimizer == ADAGRAD:
            rate = np.float32(c)
            for j in range(size):
                memory[j] += g[j] * g[j]
                w[j] = w_now[j] - rate * g[j] / np.sqrt(max(memory[j], np.float32(1e-12)))
        elif optimizer == DUAL_AVERAGING:
            step = np.float32(c / math.sqrt(t))
            for j in range(size):
                memory[j] += g[j]
                w[j] = -step * memory[j]
        else:
            away = np.float32(0.0)
            length = np.float32(0.0)
            for j in range(size):
                away += w_now[j] * w_now[j]
                length += g[j] * g[j]
            reach = max(reach, math.sqrt(away))
            squares += float(length)
            step = np.float32(reach / math.sqrt(squares)) if squares > 0.0 else np.float32(0.0)
            for j in range(size):
                w[j] = w_now[j] - step * g[j]
        if radius < np.inf:
            length = np.float32(0.0)
            for j in range(size):
                length += w[j] * w[j]
            if length > radius * radius:
                shrink = np.float32(radius / math.sqrt(length))
                for j in range(size):
                    w[j] *= shrink
        if averaging >= 0.0:
            weight = np.float32((averaging + 1.0) / (t + averaging))
            for j in range(size):
                average[j] += weight * (w[j] - average[j])
        while looked < len(stops) and stops[looked] == t:
            out[looked] = average if averaging >= 0.0 else w
            looked += 1
    return out


@njit(fastmath=True, inline="always", cache=True)
def _rate(kind, c, t):  # type: ignore[no-untyped-def]
    if kind == SQRT:
        return c / math.sqrt(t)
    if kind == CONSTANT:
        return c
    return c / t


@njit(fastmath=True, inline="always", cache=True)
def _slopes(s, x, y, first, n, w, model, delta, tolerance):  # type: ignore[no-untyped-def]
    """∂l/∂s of every sample, in place of its scores; returns how many were predicted wrongly.

    In passes over all samples of the minibatch, so that the exponentials run in one plain loop.
    """
    n_scores, width = w.shape
    wrong = 0
    for row in range(n):
        xs = x[first + row]
        for k in range(n_scores):
            total = np.float32(0.0)
            for j in range(width):
                total += w[k, j] * xs[j]
            s[row * n_scores + k] = total
    if model >= RIDGE:
        for row in range(n):
            residual = s[row] - y[first + row]
            wrong += abs(residual) > tolerance
            s[row] = min(max(residual, -delta), delta) if model == HUBER else residual
        return wrong
    for row in range(n):
        at = row * n_scores
        label = int(y[first + row])
        top, rival, rival_score = s[at], -1, np.float32(-np.inf)
        best = 0
        for k in range(n_scores):
            score = s[at + k]
            if score > top:
                top, best = score, k
            if k != label and score > rival_score:
                rival, rival_score = k, score
        wrong += best != label
        if model == HINGE:
            violated = np.float32(s[at + label] - rival_score < 1.0)
            for k in range(n_scores):
                s[at + k] = 0.0
            s[at + rival] = violated
            s[at + label] = -violated
        else:
            for k in range(n_scores):
                s[at + k] -= top
    if model == HINGE:
        return wrong
    for at in range(n * n_scores):
        s[at] = _exp(s[at])
    for row in range(n):
        at = row * n_scores
        total = np.float32(0.0)
        for k in range(n_scores):
            total += s[at + k]
        share = np.float32(1.0) / total
        for k in range(n_scores):
            s[at + k] *= share
        s[at + int(y[first + row])] -= np.float32(1.0)
    return wrong
