"""An immutable table of numbers whose changed copies share all other rows."""

from typing import Any

import numpy as np

from crowdml.frozen_map import FrozenMap
from crowdml.types import Array


class Rows:
    """Rows of equal width; NumPy reads the table as a plain array.

    A copy with one row changed costs little more than that row, however many rows there are.

    >>> one = Rows(2).with_row(0, np.array([1.0, 2.0]))
    >>> two = one.with_row(1, np.array([3.0, 4.0])).with_row(0, np.zeros(2))
    >>> np.asarray(one), np.asarray(two)
    (array([[1., 2.]]), array([[0., 0.],
           [3., 4.]]))
    """

    def __init__(self, width: int, rows: FrozenMap[Array] | None = None) -> None:
        self._width = width
        self._rows: FrozenMap[Array] = FrozenMap() if rows is None else rows

    @classmethod
    def of(cls, table: "Rows | Array") -> "Rows":
        """Take a table as it is, or an array as a snapshot stored it."""
        if isinstance(table, Rows):
            return table
        return cls(table.shape[1], FrozenMap(dict(enumerate(table))))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Array:
        return self._rows[number]

    def with_row(self, number: int, row: Array) -> "Rows":
        """Copy the table with one row replaced, or added at its end."""
        kept = row.copy()  # the row may be a part of something much larger
        return Rows(self._width, self._rows.with_item(number, kept))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        rows = [self._rows[number] for number in range(len(self))]
        return np.array(rows, dtype=dtype or np.float64).reshape(-1, self._width)
