"""Write the numbers of a chart as a CSV file."""

import csv
import io
from collections.abc import Iterable


def as_csv(columns: tuple[str, ...], rows: Iterable[tuple[float | str, ...]]) -> bytes:
    """Write a CSV file; an apostrophe precedes a text that a spreadsheet would compute.

    >>> as_csv(("checkins", "error"), [(1, -0.5), ("=1+1", 0)])
    b"checkins,error\\r\\n1,-0.5\\r\\n'=1+1,0\\r\\n"
    """
    text = io.StringIO()
    csv.writer(text).writerows([columns, *(map(_cell, row) for row in rows)])
    return text.getvalue().encode()


def _cell(value: float | str) -> float | str:
    computed = isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@")
    return f"'{value}" if computed else value
