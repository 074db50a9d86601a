"""Run a command of the package in a separate process, at the lowest priority."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import NamedTuple

NICENESS = 5
"""The niceness of the child: another busy process gets three times as much of a processor."""

logger = logging.getLogger("crowdml.portal")


class ChildResult(NamedTuple):
    """Hold the exit code of a process, and what it printed."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def error(self) -> str | None:
        """Return the error that the command printed; None if it ended in another way."""
        said = self.err.decode(errors="replace").splitlines()
        clear = [line for line in said if line.startswith("crowdml: ")]
        return clear[-1].removeprefix("crowdml: ") if self.code == 1 and clear else None

    def log(self, what: str) -> None:
        """Write what the process printed to the server's log."""
        said = self.err.decode(errors="replace")
        logger.error("%s ended with %s: %s", what, self.code, said[-2000:])


async def run_child(
    command: Sequence[str], given: bytes, seconds: float, closing: asyncio.Event
) -> ChildResult | None:
    """Run a command with these bytes as its input; None if it takes too long or the server ends.

    The bytes are in an unnamed file, which vanishes when the process ends.
    """
    pipe = asyncio.subprocess.PIPE
    # The child imports the same packages as this process.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    # A file, not a pipe: writing to a process that dies at once would fail.
    with TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=file, stdout=pipe, stderr=pipe, env=environment
        )
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    said = asyncio.create_task(process.communicate())
    ended = asyncio.create_task(closing.wait())
    try:
        await asyncio.wait({said, ended}, timeout=seconds, return_when="FIRST_COMPLETED")
        return ChildResult(process.returncode, *said.result()) if said.done() else None
    finally:
        ended.cancel()
        if process.returncode is None:
            process.kill()
            await said
