"""Write to the terminal; a text from elsewhere cannot control the terminal."""

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from crowdml.errors import InvalidInput
from crowdml.visible import visible, visible_json


def print_lines(*lines: object, err: bool = False) -> None:
    """Print lines for people; a line break inside a line is shown as an escape."""
    for line in lines:
        print(visible(line), file=sys.stderr if err else sys.stdout, flush=True)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "check-in"), counted(2000, "check-in")
    ('1 check-in', '2,000 check-ins')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def write_file(file: Path, data: bytes) -> None:
    """Write a whole file or nothing: an old file stays until the new one is complete."""
    special = file.exists() and not file.is_file()
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with (file if special else part).open("wb") as opened:
            opened.write(data)
            if not special:
                opened.flush()
                os.fsync(opened.fileno())
        if not special:
            part.replace(file)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise InvalidInput(f"cannot write to {file}: {error.strerror}.") from error


class _WarningPrinter(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_lines(record.getMessage(), err=True)


def print_warnings() -> None:
    """Print warnings of the log as lines for people."""
    logging.basicConfig(handlers=[_WarningPrinter()], level=logging.WARNING)


def print_json(document: Any) -> None:
    """Print one JSON object on standard output; JSON has no infinity, so write "inf".

    >>> print_json({"epsilon": float("inf"), "checkins": [1, 2]})
    {"epsilon":"inf","checkins":[1,2]}
    """
    import msgspec

    encoded = msgspec.json.encode(_finite(msgspec.to_builtins(document))).decode()
    print(visible_json(encoded))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return "inf" if value == float("inf") else value
