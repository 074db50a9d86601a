"""Compute the average gradient of a check-in: scores, their slopes, slopes times samples."""

import math

import numpy as np
from numba import njit

from crowdml.simulation.compiled.inputs import BLOCK, HINGE, HUBER, ONE, SOFTMAX, UNLIMITED, ZERO
from crowdml.simulation.compiled.lanes import (
    LANES,
    absolute,
    as_floats,
    beaten,
    floor,
    keep,
    larger,
    largest_lane,
    load,
    one_at,
    polynomial,
    polynomial_of,
    splat,
    spread,
    store,
    to_words,
    total,
)

NO_SCORE = np.float32(-1e30)
LOG2E = np.float32(1.0 / math.log(2.0))
EXP2 = polynomial_of(np.exp2, 6)


@njit(fastmath=True, forceinline=True, cache=True)
def scores(s, samples, first, n, width, w, then, n_scores, wide):  # type: ignore[no-untyped-def]
    """Compute s[row, k] = Σⱼ x[row, j]·w[j, k]; NO_SCORE beyond K."""
    for block in range(0, wide, LANES):
        row = 0
        while row + BLOCK <= n:
            x0 = (first + row) * width
            x1, x2, x3 = x0 + width, x0 + 2 * width, x0 + 3 * width
            a0, a1, a2, a3 = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
            at = then + block
            for j in range(width):
                w_j = load(w, at)
                a0 = a0 + spread(samples, x0 + j) * w_j
                a1 = a1 + spread(samples, x1 + j) * w_j
                a2 = a2 + spread(samples, x2 + j) * w_j
                a3 = a3 + spread(samples, x3 + j) * w_j
                at += n_scores
            store(s, row * wide + block, keep(a0, n_scores - block, NO_SCORE))
            store(s, (row + 1) * wide + block, keep(a1, n_scores - block, NO_SCORE))
            store(s, (row + 2) * wide + block, keep(a2, n_scores - block, NO_SCORE))
            store(s, (row + 3) * wide + block, keep(a3, n_scores - block, NO_SCORE))
            row += BLOCK
        while row < n:
            x0 = (first + row) * width
            a0, a1, a2, a3 = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
            at = then + block
            for j in range(x0, x0 + width, BLOCK):
                a0 = a0 + spread(samples, j) * load(w, at)
                a1 = a1 + spread(samples, j + 1) * load(w, at + n_scores)
                a2 = a2 + spread(samples, j + 2) * load(w, at + 2 * n_scores)
                a3 = a3 + spread(samples, j + 3) * load(w, at + 3 * n_scores)
                at += BLOCK * n_scores
            a0 = (a0 + a1) + (a2 + a3)
            store(s, row * wide + block, keep(a0, n_scores - block, NO_SCORE))
            row += 1


@njit(fastmath=True, forceinline=True, cache=True)
def slopes(s, y, first, n, wide, setting):  # type: ignore[no-untyped-def]
    """Replace scores by slopes ∂l/∂s, 0 beyond K; return how many predictions were wrong."""
    model, n_scores, delta = setting.model, setting.n_scores, setting.delta
    wrong = 0
    for row in range(n):
        at, target = row * wide, y[first + row]
        if model == SOFTMAX:
            wrong += _softmax(s, at, int(target), n_scores, wide)
        elif model == HINGE:
            wrong += _hinge(s, at, int(target), n_scores, wide)
        else:
            residual = s[at] - target
            wrong += abs(residual) > setting.tolerance
            slope = min(max(residual, -delta), delta) if model == HUBER else residual
            store(s, at, one_at(0) * slope)
    return wrong


@njit(fastmath=True, forceinline=True, cache=True)
def _softmax(s, at, label, n_scores, wide):  # type: ignore[no-untyped-def]
    """Compute P(k|x) − [k = y]; return whether another class was predicted, the first of equals."""
    peak = load(s, at)
    for k in range(LANES, wide, LANES):
        peak = larger(peak, load(s, at + k))
    highest, own = largest_lane(peak), s[at + label]
    wrong = False
    sums = splat(ZERO)
    for k in range(0, wide, LANES):
        score = load(s, at + k)
        wrong |= beaten(score, own, label - k)
        share = keep(_exp(score - highest), n_scores - k, ZERO)
        sums = sums + share
        store(s, at + k, share)
    factor = ONE / total(sums)
    for k in range(0, wide, LANES):
        store(s, at + k, load(s, at + k) * factor - one_at(label - k))
    return wrong


@njit(fastmath=True, forceinline=True, cache=True)
def _hinge(s, at, label, n_scores, wide):  # type: ignore[no-untyped-def]
    """Set −1 for the label and 1 for its best rival within the margin; return as `_softmax`."""
    best, rival = 0, -1
    for k in range(n_scores):
        if s[at + k] > s[at + best]:
            best = k
        if k != label and (rival < 0 or s[at + k] > s[at + rival]):
            rival = k
    violated = ONE if s[at + label] - s[at + rival] < ONE else ZERO
    for k in range(0, wide, LANES):
        store(s, at + k, (one_at(rival - k) - one_at(label - k)) * violated)
    return best != label


@njit(fastmath=True, forceinline=True, cache=True)
def weigh(s, lengths, first, n, wide, norm, clip):  # type: ignore[no-untyped-def]
    """Multiply each sample's slopes by its share of the mean, and shrink if ‖g‖ = ‖s‖·‖x‖ > S."""
    share = ONE / np.float32(n)
    for row in range(n):
        at = row * wide
        length = ZERO
        if clip < UNLIMITED:
            sums = splat(ZERO)
            for k in range(0, wide, LANES):
                slope = load(s, at + k)
                sums = sums + (absolute(slope) if norm == 1 else slope * slope)
            own = total(sums) if norm == 1 else np.float32(math.sqrt(total(sums)))
            length = own * lengths[first + row]
        factor = share * clip / length if length > clip else share
        for k in range(0, wide, LANES):
            store(s, at + k, load(s, at + k) * factor)


@njit(fastmath=True, forceinline=True, cache=True)
def gradient(g, samples, first, n, width, s, n_scores, wide):  # type: ignore[no-untyped-def]
    """Compute g[j, k] = Σ x[row, j]·s[row, k] over rows.

    From the last block to the first and from the first feature to the last: what a vector wrote
    beyond its row is 0, or is written again.
    """
    for block in range(wide - LANES, -1, -LANES):
        for j in range(0, width, BLOCK):
            a0, a1, a2, a3 = splat(ZERO), splat(ZERO), splat(ZERO), splat(ZERO)
            x0 = first * width + j
            for row in range(n):
                slope = load(s, row * wide + block)
                a0 = a0 + spread(samples, x0) * slope
                a1 = a1 + spread(samples, x0 + 1) * slope
                a2 = a2 + spread(samples, x0 + 2) * slope
                a3 = a3 + spread(samples, x0 + 3) * slope
                x0 += width
            at = j * n_scores + block
            store(g, at, a0)
            store(g, at + n_scores, a1)
            store(g, at + 2 * n_scores, a2)
            store(g, at + 3 * n_scores, a3)


@njit(fastmath=True, forceinline=True, cache=True)
def _exp(v):  # type: ignore[no-untyped-def]
    """Compute exp(v) for v ≤ 0 as 2^n·2^f, at least 2⁻¹⁰⁰, which avoids denormal numbers."""
    v = larger(v * LOG2E, np.float32(-100.0))
    n = floor(v)
    f = v - n
    return polynomial(EXP2, f) * as_floats((to_words(n) + 127) << 23)
