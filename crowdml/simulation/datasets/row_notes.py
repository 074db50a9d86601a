"""Notice rows that are mostly short, and columns in units of different size."""

from collections.abc import Iterator

import numpy as np

from crowdml.simulation.datasets.scaling import CLIP_DEVIATIONS, standardized
from crowdml.types import Array

SHORT_LENGTH, UNLIKE_RATIO = 0.5, 100.0
"""The median length of a row, and the ratio of two columns' deviations, that are worth a note."""

UNSHORTENED_SHARE = 0.9
"""The share of rows that are at most 1 long after they were divided by the length."""

MOST_COLUMNS = 12
"""The most columns of a list that is short enough to be copied."""

SOURCE_ADVICE = "Take constants from a pilot or a data sheet, never from participants."


def row_notes(x: Array, norm: int) -> Iterator[str]:
    """Yield what is wrong with the sizes of the rows `x`, and the constants that would help.

    The constants are those of `[features]` in a task file. `norm` is that in which the mechanism
    bounds rows.

    >>> rows = np.array([[0.1, 0.2], [0.2, 0.1], [0.1, 0.1]])
    >>> print(*row_notes(rows, 2))
    half of the rows are shorter than 0.5, so w has far to go. This would help: length = 0.224. \
Take constants from a pilot or a data sheet, never from participants.
    """
    deviations = x.std(axis=0)
    deviations = deviations[deviations > 0]
    if deviations.size and deviations.max() > UNLIKE_RATIO * deviations.min():
        ratio = float(f"{deviations.max() / deviations.min():.2g}")
        yield (
            f"columns differ in size, the largest varies {ratio:,.0f} times as much as the "
            f"smallest, so some can hardly be heard. This would help: {_all_constants(x, norm)}. "
            f"{SOURCE_ADVICE}"
        )
    elif np.median(np.linalg.norm(x, norm, axis=1)) < SHORT_LENGTH:
        yield (
            "half of the rows are shorter than 0.5, so w has far to go. This would help: "
            f"length = {_length(x, norm)}. {SOURCE_ADVICE}"
        )


def _all_constants(x: Array, norm: int) -> str:
    """Write `center`, `scale` and `length` as lines of a task file."""
    if x.shape[1] > MOST_COLUMNS:
        return "center, scale and length, which `crowdml task new --pilot` computes from a pilot"
    deviation = x.std(axis=0)
    length = _length(np.clip(standardized(x, x), -CLIP_DEVIATIONS, CLIP_DEVIATIONS), norm)
    scale = np.where(deviation > 0, deviation, 1.0)
    return f"center = {_list(x.mean(axis=0))}, scale = {_list(scale)}, length = {length}"


def _length(x: Array, norm: int) -> str:
    return f"{np.quantile(np.linalg.norm(x, norm, axis=1), UNSHORTENED_SHARE):.3g}"


def _list(values: Array) -> str:
    return str([float(f"{value:.3g}") for value in values.tolist()])
