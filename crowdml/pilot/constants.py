"""Choose the constants that bring a pilot's readings to a common size: center, scale, length."""

import math

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.pilot.columns import PilotColumn
from crowdml.pilot.rows import PilotRows
from crowdml.protocol import Features
from crowdml.tables import quoted
from crowdml.types import Array

UNSHORTENED_SHARE = 0.9
"""The share of the pilot's rows that are at most 1 long, and so are not shortened."""

LARGEST_SCALE = 1e9
"""The largest scale that a task file may have; the smallest is its inverse."""


def choose_features(rows: PilotRows, norm: int) -> Features:
    """Choose the constants of [features], rounded so that people can read them.

    Center and scale are the mean and the standard deviation of each column; `length` is such that
    nine of ten rows are at most 1 long in this norm.
    """
    names = tuple(column.name for column in rows.columns)
    constants = [_center_and_scale(column) for column in rows.columns]
    empty = bool(np.isnan(rows.x).any())
    features = Features(
        len(rows.columns),
        description=_description(rows.columns),
        names=() if names == Features(len(names)).column_names else names,
        center=tuple(center for center, _ in constants),
        scale=tuple(scale for _, scale in constants),
        missing="center" if empty else "reject",
    )
    lengths = row_lengths(features.scaled_rows(rows.x), norm)
    length = float(np.quantile(lengths, UNSHORTENED_SHARE))
    return msgspec.structs.replace(features, length=float(f"{length:.3e}"))


def row_lengths(x: Array, norm: int) -> Array:
    """Return the length of each row in this norm."""
    lengths: Array = np.linalg.norm(x, norm, axis=1)
    return lengths


def _center_and_scale(column: PilotColumn) -> tuple[float, float]:
    """Round the scale to four digits, and the center to a thousandth of the scale.

    >>> _center_and_scale(PilotColumn("pressure", "hPa", np.array([1013.21, 1013.26, 1013.22])))
    (1013.23, 0.0216)
    """
    center, scale = float(np.nanmean(column.values)), float(np.nanstd(column.values))
    if not (1 / LARGEST_SCALE <= scale <= LARGEST_SCALE and abs(center) <= 1e15):
        raise InvalidInput(
            Phrase(
                "column {column}: its values must differ by {least} to {most}, found {found}. "
                "Write them in another unit.",
                column=quoted(column.name),
                least=1 / LARGEST_SCALE,
                most=LARGEST_SCALE,
                found=scale,
            )
        )
    digits = 3 - math.floor(math.log10(scale))
    return round(center, digits) + 0.0, float(f"{scale:.3e}")


def _description(columns: tuple[PilotColumn, ...]) -> str:
    """List the readings with their units, as participants see them, shortened to fit the terms."""
    named = [f"{each.name} in {each.unit}" if each.unit else each.name for each in columns]
    text = ", ".join(named)
    return text if len(text) <= 500 else f"{len(named):,} readings"
