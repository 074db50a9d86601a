"""Simulate whether a crowd will learn, with `crowdml plan` in a separate process."""

import asyncio
import logging
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from crowdml.phrase import read_phrase
from crowdml.portal.pages.child_process import run_child
from crowdml.portal.pages.hardships import NO_HARDSHIPS, CrowdHardships
from crowdml.portal.words import Expectation, TaskDraftView, localize_number, say
from crowdml.portal.words import plain as words
from crowdml.protocol import Task

MOST_CACHED = 64
MOST_FEATURES = 1000
"""More features would need too much of the server's memory."""

COMMAND = (sys.executable, "-P", "-m", "crowdml", "plan", "-", "--json")
DRAFT_COMMAND = (*COMMAND[:4], "task", "new", "pilot", "--pilot", "-", "--json")
PLAN_SECONDS = 120.0
"""The longest that an owner waits for a simulation or a pilot. Both take a few seconds on a quiet
machine, and longer on a busy one, because their priority is the lowest."""

logger = logging.getLogger("crowdml.portal")


class Forecast(NamedTuple):
    """Hold the result of a simulation: what to expect, or the reason why there is no result."""

    expected: Expectation | None = None
    why: str = ""

    @property
    def words(self) -> str:
        return self.expected.words if self.expected else self.why


def _elsewhere(why: str) -> Forecast:
    how = say("Run “crowdml plan FILE” to simulate it on your own machine.")
    return Forecast(why=f"{why} {how}")


def _failed() -> Forecast:
    return _elsewhere(say("The simulation failed, and the server’s log says why."))


class Planner:
    """Simulate crowds one at a time, and remember the results.

    A simulation takes seconds on all processors, and the packages it needs may not be installed.
    So it runs in a separate process at the lowest priority.

    Args:
        command: A command that reads a task file and prints the plan as JSON.
        seconds: The longest that a simulation may take.
        most_waiting: The most simulations at once; one runs, the others wait.
    """

    def __init__(
        self, command: Sequence[str] = COMMAND, seconds: float = PLAN_SECONDS, most_waiting: int = 3
    ) -> None:
        self._command, self._seconds, self._most_waiting = command, seconds, most_waiting
        self._forecasts: OrderedDict[tuple[str, CrowdHardships], asyncio.Task[Forecast]] = (
            OrderedDict()
        )
        self._one_at_a_time = asyncio.Lock()
        self.known: OrderedDict[str, Forecast] = OrderedDict()

    def remember(self, task: str, text: str, hardships: CrowdHardships) -> None:
        """Keep the forecast of a task that is being created, for the owner's task page."""
        found = self._forecasts.get((text, hardships))
        if found and found.done() and not found.cancelled():
            self.known[task] = found.result()
            if len(self.known) > MOST_CACHED:
                self.known.popitem(last=False)

    async def plan(
        self,
        task: Task,
        text: str,
        closing: asyncio.Event,
        hardships: CrowdHardships = NO_HARDSHIPS,
    ) -> Forecast:
        """Simulate a private task; the simulation ends early if the server ends.

        Args:
            task: The task.
            text: The task file.
            closing: An event that is set when the server ends.
            hardships: What makes learning hard for the crowd.
        """
        count = task.terms.features.count
        if count > MOST_FEATURES:
            n = words.count(count)
            return _elsewhere(say("A crowd with {n} features is too large to simulate here.", n=n))
        key = text, hardships
        found = self._forecasts.get(key)
        if found is None:
            if sum(not each.done() for each in self._forecasts.values()) >= self._most_waiting:
                return Forecast(why=say("Other crowds are being simulated. Try again in a minute."))
            found = asyncio.create_task(self._next(task, key, closing))
            self._forecasts[key] = found
            if len(self._forecasts) > MOST_CACHED:
                self._forecasts.popitem(last=False)
        return await asyncio.shield(found)

    async def _next(
        self, task: Task, key: tuple[str, CrowdHardships], closing: asyncio.Event
    ) -> Forecast:
        checkins = task.terms.collection.checkins or 1
        devices = max(1, round(task.t_max / checkins))
        samples = task.terms.collection.batch * checkins
        hard = key[1].options(devices * samples, labels=task.terms.n_classes > 0)
        options = {"--devices": f"{devices}", "--samples": f"{samples}"} | hard
        settings = [word for option in options.items() for word in option]
        forecast = _failed()
        try:
            async with self._one_at_a_time:
                forecast = await self._run(settings, key[0], closing)
        except OSError:
            logger.exception("a simulation did not start")
        finally:
            if not forecast.expected:
                self._forecasts.pop(key, None)
        return forecast

    async def _run(self, options: Sequence[str], text: str, closing: asyncio.Event) -> Forecast:
        command = (*self._command, *options)
        answer = await run_child(command, text.encode(), self._seconds, closing)
        if answer is None:
            why = too_late(self._seconds, closing)
            return Forecast(why=why) if closing.is_set() else _elsewhere(why)
        if answer.code == 0:
            return Forecast(msgspec.json.decode(answer.out, type=Expectation))
        if answer.error:
            return Forecast(why=say("It cannot be simulated here: {why}", why=answer.error))
        answer.log("a simulation")
        return _failed()

    async def draft(
        self, pilot: bytes, options: Sequence[str], closing: asyncio.Event
    ) -> TaskDraftView | str:
        """Read a pilot and fit a start to it; return the reason as text if that fails."""
        async with self._one_at_a_time:
            command = (*DRAFT_COMMAND, *options)
            answer = await run_child(command, pilot, PLAN_SECONDS, closing)
        if answer is None:
            return too_late(PLAN_SECONDS, closing)
        if answer.code == 0:
            return msgspec.json.decode(answer.out, type=TaskDraftView)
        if answer.error is None:
            answer.log("a pilot")
            return say("The pilot could not be read, and the server’s log says why.")
        wrong = msgspec.json.decode(answer.out or b"{}").get("wrong")
        return say(read_phrase(wrong) or answer.error)


def too_late(seconds: float, closing: asyncio.Event) -> str:
    """Explain why a process has not answered in time."""
    if closing.is_set():
        return say("The server is ending.")
    return say(
        "The simulation took longer than {seconds} seconds.",
        seconds=localize_number(f"{seconds:g}"),
    )
