"""Ctrl-C and SIGTERM while a command runs: what it has begun is undone, and nothing is printed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from crowdml.cli.output import say
from crowdml.errors import InvalidInput


class Terminated(SystemExit):
    """SIGTERM was received."""


@contextmanager
def raised_signals() -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into exceptions, so that `finally` and `with` clean up."""
    wanted = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _terminate}
    before = {number: signal.getsignal(number) for number in wanted}
    for number, handler in wanted.items():
        if before[number] != signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _terminate(number: int, frame: object) -> None:
    raise Terminated(128 + number)


def signal_code(error: BaseException | None) -> int | None:
    """Return the exit code of a signal that led to this error; None if no signal did.

    Python and libraries may wrap the exception of a signal: a class that is just being made does.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return 128 + signal.SIGINT
        if isinstance(error, Terminated):
            return 128 + signal.SIGTERM
        error = error.__cause__ or error.__context__
    return None


def confirm(question: str) -> None:
    """End the command unless the person says yes; a Ctrl-C is no answer."""
    import typer  # takes longer to load than all else here

    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort as error:
        if signal_code(error):
            raise KeyboardInterrupt from error
        say("", err=True)
        raise InvalidInput("nobody answers here. Say --yes to go on without a question.") from error
    if not agreed:
        raise typer.Exit(1)
