"""Tables of values with named columns, as people keep them: CSV, JSON lines, npz."""

from crowdml.tables.names import check_columns, missing_column, quoted, split_unit

__all__ = ["check_columns", "missing_column", "quoted", "split_unit"]
