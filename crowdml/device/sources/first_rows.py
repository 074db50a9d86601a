"""Check the first rows of a source before any ε is spent on them."""

from collections.abc import Callable, Sequence

import numpy as np

from crowdml.device.device import Device
from crowdml.device.storage import DeviceStore
from crowdml.errors import DoubtfulRows, InvalidSample
from crowdml.privacy import bound_rows
from crowdml.protocol import MOST_SCALES, Features, Readings, Terms
from crowdml.tables import quoted
from crowdml.types import Array

LOOKED_AT = 100
"""The rows of a file that are checked; of a stream, all rows before its first check-in are."""

FEWEST_ALIKE = 10
"""The fewest rows about which it is reported that all are the same."""

ALIKE = 0.95
ROUNDING = 1e-6
REMEDY = "Check the units and the order of the columns. To use these rows anyway, add --yes."
APP_REMEDY = "Check the sensor and the units in the app. To use these rows anyway, add --yes."


class FirstRowsCheck:
    """Check the rows of a source before its first check-in.

    Nothing is sent, and nothing is spent: only this device sees the rows.

    Args:
        on_doubt: Called with what is strange about the rows; returns whether to go on.
        known: Whether an earlier run has gone on with the source.
    """

    def __init__(self, device: Device, on_doubt: Callable[[str], bool], known: bool) -> None:
        self._device = device
        self._on_doubt = on_doubt
        self._done = known
        self._rows: list[Readings] = []
        self._before = device.n_samples

    def check_rows(self, rows: Sequence[Readings]) -> None:
        """Check rows that the device does not have yet; raise `DoubtfulRows` to leave them out."""
        terms, self._done = self._device.terms, True
        said = doubt_about(terms.features, terms.mechanism().norm, rows)
        if said and not self._on_doubt(said):
            raise DoubtfulRows(f"{said} Nothing was spent on them. {REMEDY}")

    def check_before_checkin(self, row: Readings) -> None:
        """Check the rows of a stream so far, if a check-in may follow `row`.

        Rows of a stream cannot be read again, so the device keeps them as they come, and forgets
        them if they are not to be taken.
        """
        if self._done:
            return
        self._rows.append(row)
        if self._device.n_samples + 1 >= self._device.terms.collection.batch:
            try:
                self.check_rows(self._rows)
            except DoubtfulRows:
                own = self._device.n_samples - self._before
                self._device.discard(max(0, min(own, len(self._rows) - 1)))
                raise


class LiveRowsCheck:
    """Check the first samples of a sensor app before the first check-in that would use them.

    The device's file has the rows until the check, so that a device that is started again checks
    all of them. Once rows were found good, or were accepted, the format is not checked again.

    Args:
        store: The device's file.
        format: The app's format; each format is checked once.

    Attributes:
        doubt: Why the rows cannot be in the task's units; None if they can, or were accepted.
    """

    def __init__(self, store: DeviceStore, format: str) -> None:
        self._store = store
        self._format = format
        self.doubt: str | None = None
        self._done = store.streams.first_rows_checked(format)

    def check_before_checkin(self, terms: Terms, x: Array) -> bool:
        """Return whether a sample may be kept; if not, set `doubt` to the reason."""
        if self._done or self.doubt:
            return not self.doubt
        streams = self._store.streams
        streams.add_first_row(self._format, x.astype("<f8").tobytes())
        rows = streams.first_rows(self._format)
        if self._store.n_samples + 1 >= terms.collection.batch or len(rows) >= LOOKED_AT:
            found = [np.frombuffer(row, dtype="<f8").tolist() for row in rows]
            said = doubt_about(terms.features, terms.mechanism().norm, found)
            if said:
                self.doubt = f"{said} Nothing was spent on them. {APP_REMEDY}"
            else:
                self.accept()
        return not self.doubt

    def accept(self) -> None:
        """Accept these rows, and all later rows of this format."""
        self.doubt, self._done = None, True
        self._store.streams.end_check(self._format, good=True)

    def reject(self) -> None:
        """Delete the rows and the samples that were kept of them; keep the doubt."""
        n_kept = len(self._store.streams.first_rows(self._format)) - 1  # the last row was not kept
        self._store.discard(max(0, min(n_kept, self._store.n_samples)))
        self._store.streams.end_check(self._format, good=False)


def doubt_about(features: Features, norm: int, rows: Sequence[Readings]) -> str | None:
    """Explain why rows cannot be in the task's units; None if they can.

    Either most are cut at six scales or longer than 1 after scaling, or nearly all are the same.
    Labels do not count: people differ, and one may have one label only.

    >>> room = Features(1, names=("warmth",), center=(21.0,), scale=(3.0,), length=6.0)
    >>> doubt_about(room, 2, [[294.0], [293.5], [20.0]])
    "2 of the first 3 rows cannot be in the task's units: 'warmth' is 294, usual is 21 ± 3."
    """
    x = _numbers(features, rows)
    n = len(x)
    if not n:
        return None
    center = np.array(features.center or (0.0,) * features.count)
    scale = np.array(features.scale or (np.inf,) * features.count)
    cut = np.abs(x - center) > MOST_SCALES * scale
    scaled = features.scaled_rows(x)
    long = np.linalg.norm(scaled, norm, axis=1) > 1 + ROUNDING
    wrong = cut.any(axis=1) | long
    if 2 * wrong.sum() > n:
        about = "they are longer than 1, and would be shortened"
        if cut.any():
            j = int(cut.sum(axis=0).argmax())
            value = x[int(cut[:, j].argmax()), j]
            name = quoted(features.column_names[j])
            about = f"{name} is {value:g}, usual is {center[j]:g} ± {scale[j]:g}"
        return f"{wrong.sum()} of the first {n} rows cannot be in the task's units: {about}."
    alike = int(np.unique(bound_rows(scaled, norm), axis=0, return_counts=True)[1].max())
    if n >= FEWEST_ALIKE and alike >= ALIKE * n:
        return f"{alike} of the first {n} rows have the same features."
    return None


def _numbers(features: Features, rows: Sequence[Readings]) -> Array:
    """Return the rows that are samples; errors of the others are raised when they are added."""
    found = []
    for row in rows:
        try:
            values = features.values(row)
        except InvalidSample:
            continue
        if features.missing == "center" or None not in values:
            found.append([np.nan if value is None else value for value in values])
    x: Array = np.array(found, dtype=np.float64).reshape(len(found), features.count)
    return x
