"""Handle Ctrl-C and SIGTERM while a command runs: clean up, and print nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from crowdml.cli.output import print_lines
from crowdml.errors import InvalidInput


class Terminated(SystemExit):
    """Report that SIGTERM was received."""


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

    Python and libraries may wrap the exception of a signal, such as while a class is defined.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return 128 + signal.SIGINT
        if isinstance(error, Terminated):
            return 128 + signal.SIGTERM
        error = error.__cause__ or error.__context__
    return None


def confirm(question: str) -> None:
    """End the command unless the person answers yes; Ctrl-C is not an answer."""
    import typer  # loading typer takes longer than the rest of the command

    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort as error:
        if signal_code(error):
            raise KeyboardInterrupt from error
        print_lines("", err=True)
        raise InvalidInput(
            "the question must be answered on a terminal, found none. Use --yes to skip it."
        ) from error
    if not agreed:
        raise typer.Exit(1)
