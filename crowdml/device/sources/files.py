"""Read samples from files and standard input."""

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import IO

from crowdml.device.sources.form import Sample, SampleForm
from crowdml.device.storage import Position, Trail
from crowdml.errors import InvalidInput, InvalidSample

LONGEST_LINE = 2**24
"""Characters: a longer line is not a sample, and could use up all memory."""


class SourceCursor:
    """Track where in a source a reader is, and where an earlier run stopped.

    Args:
        source: A file, or `-` for standard input.
        before: How far the file was taken before; its samples would count, and cost, twice.
        trail: What is known of its lines under other names.

    Attributes:
        first: The first line, which may name the columns.
    """

    def __init__(
        self, source: str, before: Position | None = None, trail: Trail | None = None
    ) -> None:
        self.source = source
        self.lines = 0
        self.first = ""
        self._before = before
        self._trail = trail
        self._path = self.path(source)
        self._hash = hashlib.sha256()
        self._newest = (0, 0)
        known = trail.last(self._hashes()) if trail and self._path else 0
        self.start = max(known, before.lines if before else 0)

    @staticmethod
    def path(source: str) -> str | None:
        """Return the name under which a file is remembered; None for standard input and pipes."""
        path = Path(source)
        return str(path.resolve()) if source != "-" and path.is_file() else None

    def next_position(self) -> Position | None:
        """Return the position of the next sample, if it is stored; a line may complete several."""
        line, nth = self._newest
        self._newest = (self.lines, nth + 1 if line == self.lines else 0)
        if self._path is None:
            return None
        sha256 = self._hash.hexdigest()
        mark = self._trail.mark(sha256, self._newest[1]) if self._trail else None
        return Position(self._path, self.lines, sha256, mark)

    def follow(self, lines: IO[str]) -> Iterator[str]:
        """Return the lines that were not taken before."""
        for line in bounded_lines(lines.readline, LONGEST_LINE, self.source):
            self.lines += 1
            self.first = self.first or line
            self._hash.update(_content(line))
            if self._before and self.lines == self._before.lines:
                self._check(self._before)
            if self.lines > self.start:
                yield line
        if self._before and self.lines < self._before.lines:
            self._check(self._before)

    def _hashes(self) -> Iterator[str]:
        """Hash the content of the file up to each of its lines."""
        found = hashlib.sha256()
        with suppress(UnicodeDecodeError), _open(self.source) as lines:
            for line in bounded_lines(lines.readline, LONGEST_LINE, self.source):
                found.update(_content(line))
                yield found.hexdigest()

    def _check(self, before: Position) -> None:
        if self._hash.hexdigest() != before.sha256:
            raise InvalidInput(
                f"the first {before.lines:,} lines of {self.source} were taken before, and must be "
                "as they were, found others: its samples would count, and cost, twice. Put new "
                "samples into a new file, or add --again to take the whole file."
            )


def read_source(
    source: str,
    labels: Sequence[str],
    cursor: SourceCursor | None = None,
    form: SampleForm | None = None,
) -> Iterator[Sample | InvalidSample]:
    """Read samples from a `.csv` or `.jsonl` file, or from standard input (`-`, either kind).

    A label is given by its name. A line that is not a sample is returned as the error that says
    why, so that the reader can go on after it.

    Args:
        cursor: Where in the source to go on.
        form: How the task's samples are written.
    """
    cursor, form = cursor or SourceCursor(source), form or SampleForm()
    with open_lines(source, cursor) as lines:
        is_json, lines = detect_json(lines)
        if is_json:
            yield from form.read_json_lines(lines, labels, cursor.start + 1)
        else:
            yield from form.read_csv(lines, labels, cursor.start + 1, cursor.first)


def detect_json(lines: Iterator[str]) -> tuple[bool, Iterator[str]]:
    """Return whether the first line is JSON, and an iterator over all lines."""
    first = next(lines, "")
    return first.lstrip().startswith(("{", "[")), chain([first], lines)


@contextmanager
def open_lines(source: str, cursor: SourceCursor) -> Iterator[Iterator[str]]:
    """Return the lines of a file or of standard input (`-`), after those that were taken before."""
    with nullcontext(sys.stdin) if source == "-" else _open(source) as lines:
        try:
            yield cursor.follow(lines)
        except UnicodeDecodeError as error:
            raise InvalidSample(f"the source {source!r} must be UTF-8 text: {error}.") from error


def _open(source: str) -> IO[str]:
    if "://" in source:
        raise InvalidInput(f"a source must be a file or -, found {source!r}.")
    try:
        return Path(source).open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InvalidInput(f"cannot read the source {source!r}: {error.strerror}.") from error


def bounded_lines(readline: Callable[[int], str], longest: int, source: str) -> Iterator[str]:
    """Return lines of bounded length; a file such as /dev/zero is one line without end."""
    for number, line in enumerate(iter(lambda: readline(longest + 1), ""), 1):
        if len(line) > longest:
            raise InvalidInput(
                f"line {number:,} of {source} must have at most {longest:,} characters, found "
                "more. Is it a text file?"
            )
        yield line


def _content(line: str) -> bytes:
    """Return a line without its line end, so that appending may complete the last line."""
    return line.rstrip("\r\n").encode("utf-8", "surrogatepass") + b"\n"
