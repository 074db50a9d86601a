"""Feed a device from a file or from standard input."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from crowdml.device.device import Device
from crowdml.device.outcome import Outcome
from crowdml.device.sources.files import SourceCursor, read_source
from crowdml.device.sources.first_rows import LOOKED_AT, FirstRowsCheck
from crowdml.device.sources.form import Sample, SampleForm
from crowdml.device.sources.recording import read_recording
from crowdml.device.storage import Position
from crowdml.errors import InvalidSample
from crowdml.tables import CsvDialect, check_kind

PositionedSample = tuple[Sample | InvalidSample, Position | None, int]
"""A sample, its position in the source, and the number of its line."""

MOST_BAD = 1000
"""Bad lines in a row after which the rest of a source is not read."""

MADE_ROOM = (Outcome.CHECKED_IN, Outcome.COLLECTED)
"""The outcomes after which the buffer has room again."""


@dataclass
class SourceCounts:
    """Count what became of the samples of a source.

    Args:
        resumed_after: The line after which an earlier run had stopped; 0 for the beginning.
        lines: Read so far, those of earlier runs included.
        kept: Samples in this run.
        skipped: Samples that broke a rule.
        taken: Samples that another run took in the meantime.
        stopped: Whether the device took no more before the source ended.
        gave_up: Whether reading ended because `MOST_BAD` lines in a row broke a rule.
        answered: Check-ins that the server answered in this run.
        outcome: Of the last attempt to check in.
    """

    resumed_after: int
    lines: int = 0
    kept: int = 0
    skipped: int = 0
    taken: int = 0
    stopped: bool = False
    gave_up: bool = False
    answered: int = 0
    outcome: Outcome = Outcome.COLLECTED

    @property
    def found_nothing(self) -> bool:
        """Return whether nothing was kept, in this run or an earlier one."""
        new = self.skipped or not self.resumed_after
        return bool(new and not (self.kept or self.taken or self.stopped))


def feed(
    device: Device,
    source: str,
    *,
    readings: bool = False,
    again: bool = False,
    strict: bool = False,
    wait: float = 60.0,
    csv: CsvDialect | None = None,
    label: str | None = None,
    every: float | None = None,
    on_skip: Callable[[InvalidSample], None] = lambda error: None,
    on_note: Callable[[str], None] = lambda note: None,
    on_line: Callable[[SourceCounts], None] = lambda counts: None,
    on_doubt: Callable[[str], bool] = lambda said: False,
) -> SourceCounts:
    """Give every sample of a source to the device, from where the last run stopped.

    Args:
        source: A CSV or JSON-lines file, or `-` for standard input.
        readings: The source has a sensor's readings, not samples.
        again: Begin at the first line, even if its samples were taken before.
        strict: Stop at a sample that breaks a rule, instead of skipping it.
        wait: Seconds to keep retrying when the device is full, and at the end.
        csv: How a CSV file is written, where its first line does not show it.
        label: The column or key of y, where the task names its columns.
        every: Seconds from one sample to the next, where readings are given, if more than the
            task has.
        on_skip: Called with what was wrong with a skipped sample.
        on_note: Called with how the source is read, where that is not the usual way.
        on_line: Called after each sample with what became of the samples so far.
        on_doubt: Called before the first check-in, if most rows cannot be in the task's units or
            nearly all are the same; returns whether to go on.

    Raises:
        DoubtfulRows: `on_doubt` has answered no. Nothing was spent, and no row is kept.
    """
    check_kind("source", source, (str, Path), "a file, or - for standard input")
    source = str(source)
    path = None if again else SourceCursor.path(source)
    cursor = SourceCursor(source, device.position(path) if path else None, device.trail(again))
    counts, before = SourceCounts(cursor.start), device.n_answered
    labels = device.terms.target.labels
    samples = (
        read_recording(source, device.terms.features, labels, cursor, every)
        if readings
        else read_source(
            source, labels, cursor, SampleForm.of(device.terms.features, csv, label, on_note)
        )
    )
    bad = 0
    check = FirstRowsCheck(device, on_doubt, known=cursor.start > 0)
    samples_to_add = _with_positions(samples, cursor)
    if SourceCursor.path(source) and not cursor.start:
        # A file can be read again, so none of its samples is taken before its first rows are
        # checked.
        first = list(islice(samples_to_add, max(LOOKED_AT, device.terms.collection.batch)))
        check.check_rows(
            [sample[0] for sample, _, _ in first if not isinstance(sample, InvalidSample)]
        )
        samples_to_add = chain(first, samples_to_add)
    for sample, position, line in samples_to_add:
        counts.lines = line
        on_line(counts)
        try:
            outcome = _add(device, sample, position, line, wait, check)
        except InvalidSample as error:
            if strict:
                raise
            counts.skipped += 1
            on_skip(error)
            bad += 1
            counts.gave_up = bad >= MOST_BAD
            if counts.gave_up:
                break
            continue
        bad = 0
        if outcome in (Outcome.FULL, Outcome.ENDED):
            counts.stopped = True
            break
        if outcome is Outcome.TAKEN:
            counts.taken += 1
        else:
            counts.kept += 1
    counts.outcome = device.flush(wait)
    if counts.stopped and counts.outcome in MADE_ROOM:
        counts.outcome = Outcome.WAITING  # lines are left, so the run must not end as a success
    counts.lines, counts.answered = cursor.lines, device.n_answered - before
    return counts


def _with_positions(
    samples: Iterable[Sample | InvalidSample], cursor: SourceCursor
) -> Iterator[PositionedSample]:
    for sample in samples:
        valid = not isinstance(sample, InvalidSample)
        yield sample, cursor.next_position() if valid else None, cursor.lines


def _add(
    device: Device,
    sample: Sample | InvalidSample,
    position: Position | None,
    line: int,
    wait: float,
    check: FirstRowsCheck,
) -> Outcome:
    if isinstance(sample, InvalidSample):
        raise sample
    check.check_before_checkin(sample[0])
    try:
        outcome = device.add(*sample, position)
        # With nothing left to send, another run has made room; that run may fill the buffer again.
        while outcome is Outcome.FULL and device.flush(wait) in MADE_ROOM:
            outcome = device.add(*sample, position)
    except InvalidSample as error:
        hint = "This looks like a recording: add --readings." if _recorded(device, sample) else ""
        raise InvalidSample(f"line {line}: {error}", hint) from error
    return outcome


def _recorded(device: Device, sample: Sample) -> bool:
    """Return whether a line has the columns of a recording instead of the task's features."""
    features, found = device.terms.features, len(sample[0])
    read = features.sensor is not None and not features.sensor.registered.typed_in
    return read and found in (2, 4) and found != features.count
