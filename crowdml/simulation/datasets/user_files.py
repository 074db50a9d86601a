"""Load a user's own data set from an `.npz` or a `.csv` file."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.tables import Table, read_arrays, read_table, separators
from crowdml.types import Array, Flags, Ints

PERSON_HEADERS = ("person", "user")
MOST_LABELS = 1000
TEST_SHARE = 0.2
FEWEST_PEOPLE = 5
"""With fewer people than this, samples are held out for testing, not people."""

Values = npt.NDArray[Any]


def load_npz(path: Path) -> Dataset:
    """Load an archive with the arrays X or x (n×D) and y (n).

    Optional are user or person (n), and X_test or x_test with y_test.

    y is a label if it is text or whole numbers with at most 1,000 different values, and a number
    to be predicted otherwise. Without a test set, a fifth of the people is held out, or of the
    samples if there are fewer than five people; always the same ones. Devices rescale a row that
    is longer than 1, so columns should be brought to one scale before.
    """
    arrays = {key.lower(): array for key, array in read_arrays(path, path).items()}
    missing = {"x", "y"} - set(arrays)
    if missing or ("x_test" in arrays) != ("y_test" in arrays):
        raise InvalidInput(
            f"{path} must have the arrays X and y, and X_test and y_test both or neither, "
            f"found {', '.join(sorted(arrays)) or 'none'}."
        )
    person = arrays.get("person", arrays.get("user"))
    return _dataset(
        path, arrays["x"], arrays["y"], person, arrays.get("x_test"), arrays.get("y_test")
    )


def load_csv(path: Path) -> Dataset:
    """Load a table with one sample per line, whose last column is the label or number.

    A first line without numbers names the columns; one named `person` or `user` says whose
    sample it is, and may stand anywhere. All else is as for `load_npz`.
    """
    return _dataset(path, *_read_csv_samples(path), None, None)


def _read_csv_samples(path: Path) -> tuple[Array, Values, Values | None]:
    """Read features, the last column as numbers or text, and the person of each line, if given."""
    table = read_table(path)
    owner = next((name for name in table.columns if name.lower() in PERSON_HEADERS), None)
    *features, target = [name for name in table.columns if name != owner] or [""]
    if not features:
        raise InvalidInput(
            f"{path} must have a feature and a label, found {len(target and [target])} columns."
            + separators([str(cells[0]) for cells in table.columns.values()])
        )
    x = np.column_stack([_complete(table, name) for name in features])
    y = _complete(table, target) if table.is_numeric(target) else np.array(table[target])
    person = None if owner is None else np.array(table[owner])
    return x, y, person


def _complete(table: Table, column: str) -> Array:
    """Return the numbers of a column in which none is missing."""
    numbers = table.numbers(column)
    if np.isnan(numbers).any():
        row = int(np.isnan(numbers).argmax())
        rule = "must be a finite number (leave out lines with missing values)"
        raise table.mistake(row, column, rule)
    return numbers


def _dataset(
    path: Path,
    x: Values,
    y: Values,
    person: Values | None,
    x_test: Values | None,
    y_test: Values | None,
) -> Dataset:
    """Check the data, number labels and people, and hold out a test set if there is none."""
    x, n = _features(path, "X", x), len(x)
    person = np.zeros(n) if person is None else person
    for name, array in (("y", y), ("person", person)):
        if array.shape != (n,):
            raise InvalidInput(
                f"{path}: {name} must have one entry for each of the {n} rows, "
                f"found the shape {array.shape}."
            )
    person = np.unique(person, return_inverse=True)[1].astype(np.int64)
    if x_test is None or y_test is None:
        test = _held_out(person)
        x, x_test, y, y_test, person = x[~test], x[test], y[~test], y[test], person[~test]
    x_test = _features(path, "X_test", x_test)
    if x_test.shape[1] != x.shape[1] or y_test.shape != (len(x_test),):
        raise InvalidInput(
            f"{path}: X_test must have {x.shape[1]} columns and as many rows as y_test has "
            f"entries, found the shapes {x_test.shape} and {y_test.shape}."
        )
    labels, numbers = _numbered(path, np.concatenate([y, y_test]))
    y_train, y_test = numbers[: len(y)], numbers[len(y) :]
    return Dataset(path.stem, labels, x, y_train, person, x_test, y_test)


def _features(path: Path, name: str, x: Values) -> Array:
    if x.ndim != 2 or x.dtype.kind not in "fiub" or not x.size:
        raise InvalidInput(
            f"{path}: {name} must be a table of numbers with a row for each sample, "
            f"found {x.dtype} of shape {x.shape}."
        )
    _require_finite(path, name, x)
    return x.astype(np.float64)


def _require_finite(path: Path, name: str, values: Values) -> None:
    strange = np.argwhere(~np.isfinite(values))
    if len(strange):
        place = ", ".join(map(str, strange[0]))
        raise InvalidInput(
            f"{path}: {name} must be finite numbers, found {values[tuple(strange[0])]} at "
            f"{name}[{place}] (of {len(strange):,} such). Leave out rows with missing values."
        )


def _numbered(path: Path, y: Values) -> tuple[tuple[str, ...], Array]:
    """Return the names of the labels and the number of each, or no names and y itself."""
    if y.dtype.kind not in "fiubU":
        raise InvalidInput(f"{path}: y must be text or finite numbers, found {y.dtype}.")
    if y.dtype.kind == "f":
        _require_finite(path, "y", y)
    if y.dtype.kind == "f" and (y % 1 == 0).all():
        y = y.astype(np.int64)
    values, numbers = np.unique(y, return_inverse=True)
    if y.dtype.kind == "f" or (y.dtype.kind != "U" and len(values) > MOST_LABELS):
        return (), y.astype(np.float64)
    return tuple(str(value) for value in values), numbers.astype(np.float64)


def _held_out(person: Ints) -> Flags:
    """Hold out a fifth of the people, or of the samples of few people, by a fixed seed."""
    n_people = int(person.max()) + 1
    groups = person if n_people >= FEWEST_PEOPLE else np.arange(len(person))
    n = int(groups.max()) + 1
    if n < 2:
        raise InvalidInput(f"a data set must have at least two samples, found {n}.")
    order = np.random.default_rng(0).permutation(n)
    return np.isin(groups, order[: max(1, round(TEST_SHARE * n))])
