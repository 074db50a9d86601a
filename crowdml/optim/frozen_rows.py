"""Keep an immutable table of numbers, whose changed copies share all unchanged rows."""

from typing import Any

import numpy as np

from crowdml.frozen_map import FrozenMap
from crowdml.types import Array


class FrozenRows:
    """Hold rows of equal width; NumPy reads the table as a plain array.

    Copying the table with one changed row costs little more than that row, for any number of rows.

    >>> one = FrozenRows(2).with_row(0, np.array([1.0, 2.0]))
    >>> two = one.with_row(1, np.array([3.0, 4.0])).with_row(0, np.zeros(2))
    >>> np.asarray(one), np.asarray(two)
    (array([[1., 2.]]), array([[0., 0.],
           [3., 4.]]))
    """

    def __init__(self, width: int, rows: FrozenMap[Array] | None = None) -> None:
        self._width = width
        self._rows: FrozenMap[Array] = FrozenMap() if rows is None else rows

    @classmethod
    def of(cls, table: "FrozenRows | Array") -> "FrozenRows":
        """Return a table unchanged, or make one from the array that a snapshot stored."""
        if isinstance(table, FrozenRows):
            return table
        return cls(table.shape[1], FrozenMap(dict(enumerate(table))))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Array:
        return self._rows[number]

    def with_row(self, number: int, row: Array) -> "FrozenRows":
        """Copy the table with one row replaced, or added at its end."""
        kept = (
            row.copy()
        )  # copied, because the row may be a view that keeps a much larger array in memory
        return FrozenRows(self._width, self._rows.with_item(number, kept))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        rows = [self._rows[number] for number in range(len(self))]
        return np.array(rows, dtype=dtype or np.float64).reshape(-1, self._width)
