"""Step two, compiled: fold a schedule of check-ins into parameters.

For each check-in, in order: gradient at the version it was computed on, noise, step, projection.
Single precision, one lane (a trial of a setting) per call, no Python inside.

Inside, w[j, k] of feature j and score k lies at j·K + k. A vector of sixteen scores then takes one
product per feature, and no sum across lanes. Where K is no multiple of 16, the last vector of a
row reaches into the next row: what is read there is dropped, what is written there is written
again. So noise, step and norm run over K·D numbers without a gap.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from crowdml.simulation.fast_noise import add_laplace, add_normal, fill_normal
from crowdml.simulation.lanes import (
    LANES,
    absolute,
    as_floats,
    beaten,
    floor,
    keep,
    larger,
    load,
    one_at,
    polynomial,
    polynomial_of,
    root,
    splat,
    spread,
    store,
    to_words,
    top,
    total,
)

__all__ = ["LAWS", "MODELS", "OPTIMIZERS", "fold", "gather", "pad"]

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
NO_SCORE = np.float32(-1e30)
UNLIMITED = np.float32(1e30)
LOG2E = np.float32(1.0 / math.log(2.0))
EXP2 = polynomial_of(np.exp2, 6)


def pad(x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Rows as the fold wants them: single precision, padded with zeros to a multiple of BLOCK."""
    narrow = np.asarray(x, dtype=np.float32)
    width = -(-narrow.shape[1] // BLOCK) * BLOCK
    wide = np.zeros((len(narrow), width), np.float32)
    wide[:, : narrow.shape[1]] = narrow
    return wide


@njit(nogil=True, cache=True)
def gather(x, used, intercept, norm, bounded):  # type: ignore[no-untyped-def]
    """The samples in the order of their use, as `pad` makes them, and their lengths in a norm.

    They are rescaled to ‖x‖ = 1 if they are longer, as devices do it, where `bounded` says so.
    With an intercept, each then has a feature more, which is 1. One pass and no copies in between:
    the samples are most of what a simulation keeps in memory.
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


@njit(fastmath=True, nogil=True, cache=True)
def fold(  # type: ignore[no-untyped-def]
    x, n_features, y, lengths, start, version, model, n_scores, norm, clip, delta, tolerance,
    optimizer, c, regularization, radius, averaging, law, scales, length, draws, streams,
    stops, errors,
):  # fmt: skip
    """The parameters after `stops[i]` check-ins, one row for each i; `errors` gets n_e.

    Args:
        x: The samples in the order in which they are used, so that memory is read in one sweep;
            as `pad` makes them.
        n_features: D, without the padding.
        y: Their labels or targets, float32.
        lengths: Their ‖x‖ in the norm.
        start, version: The schedule.
        model: One of MODELS.
        n_scores: K.
        norm: 1 or 2, in which gradients are clipped.
        clip: S of one sample's gradient.
        delta, tolerance: Of regression.
        optimizer: One of OPTIMIZERS.
        c: The rate's constant.
        regularization: λ.
        radius: R.
        averaging: The power of the average of iterates, or a negative number for none.
        law: One of LAWS.
        scales: The scale of the noise for each number of samples n; 0 for no noise.
        length: S of an average gradient that is told as a direction.
        draws: For each check-in, what else is random: for a direction z and a uniform number.
        streams: Generators for the noise.
        stops: Where to look, not decreasing.
        errors: For each check-in, how many of its samples were predicted wrongly.
    """
    samples, width = x.reshape(-1), x.shape[1]
    n_checkins = len(version)
    size = n_scores * n_features
    wide = -(-n_scores // LANES) * LANES  # of the scores of a sample
    room = -(-(width * n_scores + wide) // LANES) * LANES  # of parameters, with what is read beyond
    depth, longest = 1, 1
    for i in range(n_checkins):
        depth = max(depth, i - version[i] + 1)
        longest = max(longest, start[i + 1] - start[i])

    ring = np.zeros(depth * room, np.float32)  # the last versions of w
    s = np.zeros(longest * wide, np.float32)
    g = np.zeros(room, np.float32)
    memory = np.zeros(room, np.float32)
    average = np.zeros(room, np.float32)
    noise = np.zeros(room, np.float32)
    out = np.zeros((len(stops), size), np.float32)
    looked = 0
    while looked < len(stops) and stops[looked] == 0:
        looked += 1

    slot = 0  # of the newest version, i % depth without a division
    for i in range(n_checkins):
        then = slot - (i - version[i])
        then = (then + depth if then < 0 else then) * room
        first, n = start[i], start[i + 1] - start[i]
        _scores(s, samples, first, n, width, ring, then, n_scores, wide)
        errors[i] = _slopes(s, y, first, n, n_scores, wide, model, delta, tolerance)
        _weigh(s, lengths, first, n, wide, norm, clip)
        _gradient(g, samples, first, n, width, s, n_scores, wide)
        if regularization > ZERO:
            for at in range(0, size, LANES):
                store(g, at, load(g, at) + load(ring, then + at) * regularization)
        if law == DIRECTION:
            _direct(g, noise, size, scales[n], length, draws[i, 0], draws[i, 1], streams)
        elif scales[n] > ZERO:
            if law == LAPLACE:
                add_laplace(g, size, scales[n], streams)
            else:
                add_normal(g, size, scales[n], streams)
        if scales[n] > ZERO:
            last = size & -LANES  # nothing may reach the parameters beyond the last one
            store(g, last, keep(load(g, last), size - last, ZERO))

        t = i + 1
        now = slot * room
        slot = slot + 1 if slot + 1 < depth else 0
        new = slot * room
        if optimizer == DUAL_AVERAGING:
            step = np.float32(c / math.sqrt(t))
            for at in range(0, size, LANES):
                store(memory, at, load(memory, at) + load(g, at))
                store(ring, new + at, load(memory, at) * -step)
        else:
            if optimizer == ADAGRAD:
                step = np.float32(c)
                for at in range(0, size, LANES):
                    slope = load(g, at)
                    past = load(memory, at) + slope * slope
                    store(memory, at, past)
                    store(g, at, slope / root(larger(past, np.float32(1e-12))))
            else:
                step = np.float32(_rate(optimizer, c, t))
            for at in range(0, size, LANES):
                store(ring, new + at, load(ring, now + at) - load(g, at) * step)
        if radius < np.inf:
            squares = _squares(ring, new, size)
            if squares > radius * radius:
                shrink = np.float32(radius / math.sqrt(squares))
                for at in range(0, size, LANES):
                    store(ring, new + at, load(ring, new + at) * shrink)
        if averaging >= 0.0:
            weight = np.float32((averaging + 1.0) / (t + averaging))
            for at in range(0, size, LANES):
                mean = load(average, at)
                store(average, at, mean + (load(ring, new + at) - mean) * weight)
        while looked < len(stops) and stops[looked] == t:
            for j in range(n_features):
                for k in range(n_scores):
                    p = j * n_scores + k
                    kept = average[p] if averaging >= 0.0 else ring[new + p]
                    out[looked, k * n_features + j] = kept
            looked += 1
    return out


@njit(fastmath=True, forceinline=True, cache=True)
def _scores(s, samples, first, n, width, w, then, n_scores, wide):  # type: ignore[no-untyped-def]
    """s[row, k] = Σⱼ x[row, j]·w[j, k]; NO_SCORE beyond K."""
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
def _slopes(s, y, first, n, n_scores, wide, model, delta, tolerance):  # type: ignore[no-untyped-def]
    """∂l/∂s of every sample, in place of its scores, 0 beyond K; returns how many were wrong."""
    wrong = 0
    for row in range(n):
        at, target = row * wide, y[first + row]
        if model == SOFTMAX:
            wrong += _softmax(s, at, int(target), n_scores, wide)
        elif model == HINGE:
            wrong += _hinge(s, at, int(target), n_scores, wide)
        else:
            residual = s[at] - target
            wrong += abs(residual) > tolerance
            slope = min(max(residual, -delta), delta) if model == HUBER else residual
            store(s, at, one_at(0) * slope)
    return wrong


@njit(fastmath=True, forceinline=True, cache=True)
def _softmax(s, at, label, n_scores, wide):  # type: ignore[no-untyped-def]
    """P(k|x) − [k = y]; returns whether another class was predicted, the first if equal."""
    peak = load(s, at)
    for k in range(LANES, wide, LANES):
        peak = larger(peak, load(s, at + k))
    highest, own = top(peak), s[at + label]
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
    """−1 for the label and 1 for its best rival within the margin; returns as `_softmax`."""
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
def _weigh(s, lengths, first, n, wide, norm, clip):  # type: ignore[no-untyped-def]
    """Each sample's slopes times its share of the mean, and less if ‖g‖ = ‖s‖·‖x‖ > S."""
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
def _direct(g, v, size, scale, longest, pull, coin, streams):  # type: ignore[no-untyped-def]
    """scale·v in place of g, where v is z towards g, or away from it, and normal besides.

    Without noise, g itself, shortened to S.
    """
    norm = np.float32(math.sqrt(_squares(g, 0, size)))
    if scale == ZERO:
        own = longest / norm if norm > longest else ONE
        for at in range(0, size, LANES):
            store(g, at, load(g, at) * own)
        return
    along = fill_normal(v, g, size, streams)
    own = ZERO
    if norm > ZERO:
        if coin < (ONE - norm / longest) * np.float32(0.5):
            pull = -pull
        own = (pull - along / norm) / norm * scale
    for at in range(0, size, LANES):
        store(g, at, load(g, at) * own + load(v, at) * scale)


@njit(fastmath=True, forceinline=True, cache=True)
def _gradient(g, samples, first, n, width, s, n_scores, wide):  # type: ignore[no-untyped-def]
    """g[j, k] = Σ x[row, j]·s[row, k] over rows.

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
def _squares(values, first, size):  # type: ignore[no-untyped-def]
    """Σ v²."""
    sums = splat(ZERO)
    for at in range(first, first + size, LANES):
        v = load(values, at)
        sums = sums + v * v
    return total(sums)


@njit(fastmath=True, forceinline=True, cache=True)
def _exp(v):  # type: ignore[no-untyped-def]
    """exp(v) for v ≤ 0, as 2^n·2^f. From 2⁻¹⁰⁰ down it stays there, clear of denormal numbers."""
    v = larger(v * LOG2E, np.float32(-100.0))
    n = floor(v)
    f = v - n
    return polynomial(EXP2, f) * as_floats((to_words(n) + 127) << 23)


@njit(fastmath=True, forceinline=True, cache=True)
def _rate(kind, c, t):  # type: ignore[no-untyped-def]
    if kind == SQRT:
        return c / math.sqrt(t)
    if kind == CONSTANT:
        return c
    return c / t
