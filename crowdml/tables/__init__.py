"""Read tables with named columns, as people keep them: CSV, JSON lines, npz.

Devices, pilots, simulations and commands call this package for every file of rows. It knows columns
and cells, but not what they mean; each error names the row and the nearest known name.
"""

from crowdml.tables.arrays import read_arrays
from crowdml.tables.dialect import (
    CsvDialect,
    guess_dialect,
    is_number,
    read_dialect,
    rows,
    separators,
)
from crowdml.tables.layout import CsvLayout, find_layout, target_header
from crowdml.tables.names import check_columns, check_kind, nearest_name, quoted, split_unit
from crowdml.tables.table import Table, read_table
from crowdml.tables.whole_file import read_file

__all__ = [
    "CsvDialect",
    "CsvLayout",
    "Table",
    "check_columns",
    "check_kind",
    "find_layout",
    "guess_dialect",
    "is_number",
    "nearest_name",
    "quoted",
    "read_arrays",
    "read_dialect",
    "read_file",
    "read_table",
    "rows",
    "separators",
    "split_unit",
    "target_header",
]
