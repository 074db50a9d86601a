"""Write log lines for the operator to standard error: as text, or as one JSON object each.

Log lines are about tasks and the server. An exception appears without its message, which may quote
anything: an address, a token, the name of a device or a part of a body.
"""

import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias

import msgspec

from crowdml.visible import visible, visible_json

Announce: TypeAlias = Callable[[str], None]
"""Where lines for people go."""

ExcInfo: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
logger = logging.getLogger("crowdml.server")


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = fields_of(record)
        about = f"{fields['task']}: " if "task" in fields else ""
        line = visible(f"{record.levelname} {record.name}: {about}{fields['message']}")
        return "\n".join([line, *fields.get("exception", [])])


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {"time": time, "level": record.levelname, "logger": record.name}
        return visible_json(msgspec.json.encode(fields | fields_of(record)).decode())


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    # asyncio appends the exception's message to its lines.
    fields: dict[str, Any] = {"message": record.getMessage().partition("\n")[0]}
    if task := getattr(record, "task", None):
        fields["task"] = task
    if record.exc_info and record.exc_info[0]:
        fields["exception"] = _where(record.exc_info)
    return fields


def _where(exception: ExcInfo) -> list[str]:
    kind, _, trace = exception
    places = [
        f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(trace)
    ]
    return [*places, kind.__name__ if kind else ""]


def start_logging(log_format: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("crowdml").setLevel(logging.INFO)


def make_announcer(log_format: str) -> Announce:
    """Announce on standard output, or in the log if the log is JSON."""
    return logger.info if log_format == "json" else partial(print, flush=True)
