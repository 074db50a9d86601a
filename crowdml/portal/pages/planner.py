"""Whether a crowd will learn, asked of `crowdml plan` in a process of its own."""

import asyncio
import logging
import os
import sys
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import NamedTuple

import msgspec

from crowdml.portal.words import Expectation, say
from crowdml.portal.words import plain as words
from crowdml.protocol import Task

__all__ = ["Forecast", "Planner"]

MOST = 64
MOST_FEATURES = 1000
"""Samples with more than these would fill the memory that the server lives in."""

LARGE = 2_000_000
"""Of a crowd with more numbers one trial is enough: chance matters less, and time more."""

COMMAND = (sys.executable, "-P", "-m", "crowdml", "plan", "-", "--json")
log = logging.getLogger("crowdml.portal")


class Forecast(NamedTuple):
    """What came of a simulation: what to expect, or in words why nobody knows."""

    expected: Expectation | None = None
    why: str = ""

    @property
    def words(self) -> str:
        return self.expected.words if self.expected else self.why


def _elsewhere(why: str) -> Forecast:
    return Forecast(why=f"{why} {say('“crowdml plan FILE” says it on a machine of your own.')}")


def _failed() -> Forecast:
    return _elsewhere(say("The simulation failed, and the server’s log says why."))


class Planner:
    """Simulates crowds one at a time, and remembers what came of it.

    A simulation takes seconds of all processors, and the parts it needs may not be installed. So
    it has a process of its own, which steps back behind everything else on the machine.

    Args:
        command: What reads a task file and prints the plan's JSON.
        seconds: After which a simulation is given up.
        most_waiting: Simulations at once, all but one of them in the queue.
    """

    def __init__(
        self, command: Sequence[str] = COMMAND, seconds: float = 30.0, most_waiting: int = 3
    ) -> None:
        self._command, self._seconds, self._most_waiting = command, seconds, most_waiting
        self._forecasts: OrderedDict[str, asyncio.Task[Forecast]] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def plan(self, task: Task, text: str, closing: asyncio.Event) -> Forecast:
        """What to expect of a private task, unless the server ends, and the simulation with it."""
        count = task.terms.features.count
        if count > MOST_FEATURES:
            n = words.count(count)
            return _elsewhere(say("A crowd with {n} features is too large to simulate here.", n=n))
        found = self._forecasts.get(text)
        if found is None:
            if sum(not each.done() for each in self._forecasts.values()) >= self._most_waiting:
                return Forecast(why=say("Other crowds are being simulated. Try again in a minute."))
            found = asyncio.create_task(self._next(task, text, closing))
            self._forecasts[text] = found
            if len(self._forecasts) > MOST:
                self._forecasts.popitem(last=False)
        return await asyncio.shield(found)

    async def _next(self, task: Task, text: str, closing: asyncio.Event) -> Forecast:
        checkins = task.terms.collection.checkins or 1
        devices = max(1, round(task.t_max / checkins))
        samples = task.terms.collection.batch * checkins
        large = devices * samples * task.terms.features.count > LARGE
        options = {"--devices": devices, "--samples": samples, "--trials": 1 if large else 3}
        settings = [str(word) for option in options.items() for word in option]
        forecast = _failed()
        try:
            async with self._one_at_a_time:
                forecast = await self._run(settings, text, closing)
        except OSError:
            log.exception("a simulation did not start")
        finally:
            if not forecast.expected:
                self._forecasts.pop(text, None)
        return forecast

    async def _run(self, options: Sequence[str], text: str, closing: asyncio.Event) -> Forecast:
        pipe = asyncio.subprocess.PIPE
        # The same packages as here, wherever those were imported from.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        # A file and no pipe: a process that dies at once would not read from that.
        with TemporaryFile() as file:
            file.write(text.encode())
            file.seek(0)
            process = await asyncio.create_subprocess_exec(
                *self._command, *options, stdin=file, stdout=pipe, stderr=pipe, env=environment
            )
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, 10)
        said = asyncio.create_task(process.communicate())
        ended = asyncio.create_task(closing.wait())
        try:
            await asyncio.wait({said, ended}, timeout=self._seconds, return_when="FIRST_COMPLETED")
            if said.done():
                return _forecast(process.returncode, *said.result())
        finally:
            ended.cancel()
            if process.returncode is None:
                process.kill()
                await said
        if closing.is_set():
            return Forecast(why=say("The server is ending."))
        seconds = words.local(f"{self._seconds:g}")
        return _elsewhere(
            say("The simulation took longer than {seconds} seconds.", seconds=seconds)
        )


def _forecast(code: int | None, out: bytes, err: bytes) -> Forecast:
    """What the process printed; a clear error is passed on, of any other the log knows more."""
    if code == 0:
        return Forecast(msgspec.json.decode(out, type=Expectation))
    said = err.decode(errors="replace")
    clear = [line for line in said.splitlines() if line.startswith("crowdml: ")]
    if code == 1 and clear:
        why = clear[-1].removeprefix("crowdml: ")
        return Forecast(why=say("It cannot be simulated here: {why}", why=why))
    log.error("a simulation ended with %s: %s", code, said[-2000:])
    return _failed()
