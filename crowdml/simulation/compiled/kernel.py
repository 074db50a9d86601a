"""Fold a schedule of check-ins into parameters (step two), compiled.

For each check-in, in order: gradient at the version it was computed on, noise, step, projection.
Single precision, one lane (a trial of a setting) per call, no Python inside.

Inside, w[j, k] of feature j and score k lies at j·K + k. A vector of sixteen scores then takes one
product per feature, and no sum across lanes. If 16 does not divide K, the last vector of a
row reaches into the next row: what is read there is dropped, what is written there is written
again. So noise, step and norm run over K·D numbers without a gap.

Numba compiles `fold` again when this file changes, but not when a module that it calls changes:
touch this file after such a change.
"""

import math

import numpy as np
from numba import njit

from crowdml.learning import FEWEST_LENGTHS, LIMIT_FACTOR, REMEMBERED_LENGTHS, USUAL_QUANTILE
from crowdml.simulation.compiled.codewords import fill_codeword
from crowdml.simulation.compiled.fast_noise import add_laplace, add_normal, fill_normal
from crowdml.simulation.compiled.gradients import gradient, scores, slopes, weigh
from crowdml.simulation.compiled.inputs import (
    ADAGRAD,
    CONSTANT,
    DIRECTION,
    DUAL_AVERAGING,
    LAPLACE,
    ONE,
    SQRT,
    UNLIMITED,
    ZERO,
)
from crowdml.simulation.compiled.lanes import (
    LANES,
    below,
    keep,
    larger,
    load,
    root,
    smaller,
    splat,
    store,
    total,
)

STRIDE = np.uint64(0xD1342543DE82EF95)
"""The distance between the seeds of the codebooks of two check-ins in a row."""

ROW = (-(-REMEMBERED_LENGTHS // LANES) + 1) * LANES
"""Room for the remembered lengths in order, and for a number before and some after them."""


@njit(fastmath=True, nogil=True, cache=True)
def fold(checkins, setting, streams, stops, errors):  # type: ignore[no-untyped-def]
    """Return the parameters after `stops[i]` check-ins, one row for each i.

    Args:
        streams: Generators for the noise.
        stops: The numbers of check-ins after which w is returned, not decreasing.
        errors: Gets, for each check-in, how many of its samples were predicted wrongly.
    """
    x, lengths, y, start, version, draws = checkins
    n_features, n_scores, averaging = setting.n_features, setting.n_scores, setting.averaging
    regularization, law, limit = setting.regularization, setting.law, setting.limit
    ranked = setting.ranked
    optimizer, c, radius = setting.optimizer, setting.c, setting.radius
    samples, width = x.reshape(-1), x.shape[1]
    n_checkins = len(version)
    size = n_scores * n_features
    wide = -(-n_scores // LANES) * LANES  # scores of a sample, padded
    room = -(-(width * n_scores + wide) // LANES) * LANES  # parameters, padded
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
    ranks = np.zeros(ranked, np.float32)
    base = np.uint64(streams[0, 0]) << np.uint64(32) | np.uint64(streams[1, 0])
    newest = np.full(REMEMBERED_LENGTHS, UNLIMITED)
    ordered = np.full(2 * ROW, UNLIMITED)
    ordered[0] = ordered[ROW] = -ONE
    origin = np.zeros(room, np.float32)
    out = np.zeros((len(stops), size), np.float32)
    for j in range(n_features):
        for k in range(n_scores):
            origin[j * n_scores + k] = setting.w0[k * n_features + j]
    ring[:room] = origin
    average[:] = origin
    looked = 0
    while looked < len(stops) and stops[looked] == 0:
        out[looked] = setting.w0
        looked += 1

    slot = 0  # of the newest version, i % depth without a division
    for i in range(n_checkins):
        then = slot - (i - version[i])
        then = (then + depth if then < 0 else then) * room
        first, n = start[i], start[i + 1] - start[i]
        scores(s, samples, first, n, width, ring, then, n_scores, wide)
        errors[i] = slopes(s, y, first, n, wide, setting)
        weigh(s, lengths, first, n, wide, setting.norm, setting.clip)
        gradient(g, samples, first, n, width, s, n_scores, wide)
        if regularization > ZERO:
            for at in range(0, size, LANES):
                store(g, at, load(g, at) + load(ring, then + at) * regularization)
        scale = setting.scales[n]
        if law == DIRECTION and ranked and scale > ZERO:
            seed = np.uint64(base + np.uint64(i) * STRIDE)
            _replace_by_codeword(
                g, noise, size, scale, setting.length, draws[i, 0], draws[i, 1], ranks, seed
            )
        elif law == DIRECTION:
            _replace_by_draw(
                g, noise, size, scale, setting.length, draws[i, 0], draws[i, 1], streams
            )
        elif draws[i, 0] > ZERO:
            for j in range(size):
                g[j] = math.copysign(draws[i, 0], -g[j]) if g[j] != ZERO else ZERO
        elif scale > ZERO:
            if law == LAPLACE:
                add_laplace(g, size, scale, streams)
            else:
                add_normal(g, size, scale, streams)
        if scale > ZERO:
            last = size & -LANES  # nothing may reach the parameters beyond the last one
            store(g, last, keep(load(g, last), size - last, ZERO))
        if limit >= ZERO:
            _shorten(g, size, newest, ordered, i, limit)

        t = i + 1
        now = slot * room
        slot = slot + 1 if slot + 1 < depth else 0
        new = slot * room
        if optimizer == DUAL_AVERAGING:
            step = np.float32(c / math.sqrt(t))
            for at in range(0, size, LANES):
                store(memory, at, load(memory, at) + load(g, at))
                store(ring, new + at, load(origin, at) - load(memory, at) * step)
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
def _replace_by_draw(g, v, size, scale, longest, pull, coin, streams):  # type: ignore[no-untyped-def]
    """Replace g by scale·v, where v is z towards or away from g, and normal in other directions.

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


@njit(fastmath=True, cache=True)
def _replace_by_codeword(g, v, size, scale, longest, rank, coin, ranks, seed):  # type: ignore[no-untyped-def]
    """Replace g by scale·v, where v is one of k codewords, ranked by g or by −g."""
    norm = np.float32(math.sqrt(_squares(g, 0, size)))
    k, place = len(ranks), int(rank)
    if coin < (ONE - norm / longest) * np.float32(0.5):
        place = k + 1 - place
    fill_codeword(v, g, size, k, place, seed, ranks)
    for j in range(size):
        g[j] = v[j] * scale


@njit(fastmath=True, forceinline=True, cache=True)
def _shorten(g, size, newest, ordered, seen, limit):  # type: ignore[no-untyped-def]
    """Limit ‖g‖ as `UsualLength` does, after `seen` gradients.

    `newest` is a ring of lengths. `ordered` has two rows, which take turns: the same lengths in
    ascending order, after a number below and before numbers above all lengths.
    """
    length = np.float32(math.sqrt(_squares(g, 0, size)))
    now, after = (0, ROW) if seen % 2 == 0 else (ROW, 0)
    known = min(seen, REMEMBERED_LENGTHS)
    if known >= FEWEST_LENGTHS:
        limit = np.float32(LIMIT_FACTOR) * ordered[now + 1 + int(USUAL_QUANTILE * (known - 1))]
    place = seen % REMEMBERED_LENGTHS
    oldest, newest[place] = newest[place], length
    for at in range(1, ROW - LANES, LANES):
        own = load(ordered, now + at)
        kept = below(own, oldest, load(ordered, now + at + 1))  # without the oldest length
        before = below(load(ordered, now + at - 1), oldest, own)
        store(ordered, after + at, smaller(larger(before, length), kept))  # with the newest one
    if length > limit:
        shrink = limit / length
        for at in range(0, size, LANES):
            store(g, at, load(g, at) * shrink)


@njit(fastmath=True, forceinline=True, cache=True)
def _squares(values, first, size):  # type: ignore[no-untyped-def]
    """Compute Σ v²."""
    sums = splat(ZERO)
    for at in range(first, first + size, LANES):
        v = load(values, at)
        sums = sums + v * v
    return total(sums)


@njit(fastmath=True, forceinline=True, cache=True)
def _rate(kind, c, t):  # type: ignore[no-untyped-def]
    if kind == SQRT:
        return c / math.sqrt(t)
    if kind == CONSTANT:
        return c
    return c / t
