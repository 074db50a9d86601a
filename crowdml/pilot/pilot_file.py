"""Make a draft of a task from a pilot's bytes."""

import io
import zipfile
from dataclasses import replace

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase, PlainText
from crowdml.pilot.draft import TaskDraft, draft_from_rows
from crowdml.pilot.rows import read_rows
from crowdml.tables import CsvDialect, Table, read_dialect, read_table
from crowdml.visible import visible

MOST_BYTES, MOST_ROWS = 300_000_000, 1_000_000
"""The most of a pilot; a form may allow less."""


def draft_task(
    name: str,
    data: bytes,
    file: str,
    *,
    label: str | None = None,
    person: str | None = None,
    csv: str | None = None,
    devices: int | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> TaskDraft:
    """Make a draft of a task from a file of samples that its owner may use openly.

    Args:
        name: The task's name.
        data: CSV, JSON lines or npz.
        file: The name of the file, by which .npz is recognised, and which errors name.
        label: The column with the targets; by default `label`, `y`, `class`, `target` or the last.
        person: The column that says whose row each one is; by default `person`, `user`,
            `participant` or `subject`, if there is one.
        csv: The signs between columns and before decimals, such as `;,`, where they are unusual.
        devices: How many devices are expected, if that is known.
        samples: How many samples each of them collects, if that is known.
        seed: The seed of everything random: the folds and the refits.

    Raises:
        InvalidInput: The file cannot be a pilot; the message has the line and the column.

    >>> rows = "".join(f"{20 + k % 7},{'cold' if k % 7 < 3 else 'warm'}\\n" for k in range(70))
    >>> draft = draft_task("room", f"temperature [°C],vote\\n{rows}".encode(), "pilot.csv")
    >>> draft.start.labels, draft.features.names, draft.start.rows
    (('warm', 'cold'), ('temperature',), 70)
    """
    table = read_pilot(data, file, csv)
    draft = draft_from_rows(
        name, read_rows(table, label, person), devices=devices, samples=samples, seed=seed
    )
    if table.dialect == CsvDialect():
        return draft
    return replace(draft, findings=(PlainText(f"{file}: {table.dialect}."), *draft.findings))


def read_pilot(data: bytes, file: str, csv: str | None = None) -> Table:
    """Read a pilot's bytes, up to a size that fits into memory."""
    check_size(len(data), file, MOST_BYTES)
    if zipfile.is_zipfile(archive := io.BytesIO(data)):
        with zipfile.ZipFile(archive) as members:
            check_size(sum(member.file_size for member in members.infolist()), file, MOST_BYTES)
    return read_table(data, read_dialect(csv) if csv else None, MOST_ROWS, file)


def check_size(n_bytes: int, file: str, most: int) -> None:
    """Reject a file that is too large, before it is read."""
    if n_bytes > most:
        raise InvalidInput(
            Phrase(
                "{file} must have at most {most} MB, found {found} MB. Take a part of its rows.",
                file=visible(file),
                most=most // 10**6,
                found=n_bytes // 10**6,
            )
        )
