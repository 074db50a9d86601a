"""Put one phone's readings in the order of time, label them, and return samples."""

from collections.abc import Callable, Iterator

import msgspec

from crowdml.device.sources.formats import SECOND, Batch
from crowdml.device.sources.sensing import Sensing, SensingMemory, TakenSample
from crowdml.protocol import Sensor

LARGEST_OFFSET_ERROR = 2 * SECOND
"""The largest change of a clock's offset; after a larger change, the clock was stopped or set."""

SKEW = 3600 * SECOND
"""The largest difference from this machine's clock for a clock that shows the time of day."""

MOST_LABELS = 1000
"""The most labels that wait for readings; beyond them, the latest label is forgotten."""

Label = str | float | None


class StreamMemory(msgspec.Struct, array_like=True):
    """Hold the state of a stream; it is committed together with the message that changed it.

    Args:
        held: Readings by their time that wait for earlier ones.
        labels: Labels by their time that wait for readings.
        newest: The time of the newest reading that was used; older ones come too late.
        horizon: The newest time of any reading.
        labelled: The time from which the current label counts.
        commanded: When a command set the label that was last applied here, by this machine's
            clock.
        begun: The earliest time of the current session, if another session came before.
    """

    held: dict[int, float] = msgspec.field(default_factory=dict)
    labels: dict[int, Label] = msgspec.field(default_factory=dict)
    newest: int = -1
    horizon: int = -1
    origin: int | None = None
    offset: int = 0
    session: str = ""
    label: Label = None
    labelled: int = -1
    commanded: int = -1
    sensing: SensingMemory = msgspec.field(default_factory=SensingMemory)
    begun: int = -1


class Stream:
    """Sort readings that come late or twice, and label them.

    Args:
        sensor, count: As for `Sensing`.
        lateness: Seconds for which readings wait for earlier ones.
        memory: What an earlier run knew.
    """

    def __init__(
        self, sensor: Sensor, count: int, lateness: float, memory: StreamMemory | None = None
    ) -> None:
        self._sensor, self._count = sensor, count
        self._lateness = round(lateness * SECOND)
        self.memory = memory or StreamMemory()
        self._sensing = Sensing(sensor, count, self.memory.sensing)
        self._commands: dict[int, Label] = {}

    def encoded(self, with_held: bool) -> bytes:
        """Return the memory to store; without held readings, these have to be read again."""
        memory = self.memory
        if not with_held:
            memory = msgspec.structs.replace(memory, held={}, horizon=memory.newest)
        return msgspec.msgpack.encode(memory)

    @property
    def n_held(self) -> int:
        return len(self.memory.held)

    def command(self, at: int, label: Label) -> None:
        """Remember a label that was set on this machine, until readings show the stream's clock.

        Args:
            at: When the label was set, in nanoseconds of this machine's clock.
        """
        if at > self.memory.commanded and len(self._commands) < MOST_LABELS:
            self._commands[at] = label

    def _apply_commands(self, batch: Batch, horizon: int) -> None:
        """Apply the labels that were set on this machine; `horizon` is that before the batch.

        A clock of the day has no offset: a label counts from its time on, or from now on if the
        clock is far off. Other clocks stop while the app is paused, so a label counts from the
        moment at which it was set, but never for readings that came before it, nor later than for
        the next reading.
        """
        memory = self.memory
        if not batch.readings and (memory.offset or horizon < 0):
            return  # nothing shows the current time of the stream's clock
        clock_of_day = not (memory.offset or batch.offset)
        for at in sorted(self._commands):
            label, first = self._commands.pop(at), memory.commanded < 0 and horizon < 0
            time, memory.commanded = at - memory.offset, at
            if not clock_of_day:
                self._set(min(max(time, horizon + 1), memory.horizon + 1), label)
            elif first:
                memory.label, memory.labelled = label, -1
            else:
                self._set(time if time - horizon < SKEW else horizon + 1, label)

    def accept(self, batch: Batch, read_label: Callable[[str], Label], usual: Label) -> None:
        """Read a message; `usual` is the label at the beginning of a new session."""
        memory = self.memory
        times = [reading.time for reading in batch.readings]
        if batch.whole and times and max(times) < memory.newest:
            self._begin_anew(usual)
            memory = self.memory
        if times:
            memory.origin = batch.origin if memory.origin is None else memory.origin
            moved = abs(batch.offset - memory.offset) > LARGEST_OFFSET_ERROR
            if moved and batch.running:
                memory.offset = batch.offset
        if events := [*times, *(event.time for event in batch.labels)]:
            self._follow_session(batch.session, min(events), usual)
        horizon = memory.horizon
        if times:
            memory.horizon = max(memory.horizon, *times)
        self._apply_commands(batch, horizon)
        for time, value in batch.readings:
            if time > memory.newest:
                memory.held.setdefault(time, value)
        for event in batch.labels:
            self._set(event.time, read_label(event.text))

    def _follow_session(self, session: str, start: int, usual: Label) -> None:
        """Let a session begin at its earliest event, although a later message may come first."""
        memory = self.memory
        if session != memory.session and start > max(memory.horizon, memory.begun):
            if memory.session:
                self._set(start, usual)
                memory.begun = start
            memory.session = session
        elif session == memory.session and start < memory.begun:
            if memory.labelled == memory.begun:
                memory.labelled = memory.begun = start
            elif start > memory.newest:
                if memory.labels.get(memory.begun) == usual:
                    memory.labels.pop(memory.begun, None)
                self._set(start, usual)
                memory.begun = start

    def _begin_anew(self, usual: Label) -> None:
        """Start a new stream after the session's clock was reset to 0; the label is `usual`."""
        commanded = self.memory.commanded
        self.memory = StreamMemory(label=usual, commanded=commanded)
        self._sensing = Sensing(self._sensor, self._count, self.memory.sensing)

    def _set(self, time: int, label: Label) -> None:
        """Set the label from this time on; a late label counts from now on, if none is newer."""
        memory = self.memory
        if time > memory.newest:
            memory.labels[time] = label
            if len(memory.labels) > MOST_LABELS:
                del memory.labels[max(memory.labels)]
        elif time >= memory.labelled:
            memory.label, memory.labelled = label, time

    def drain(self, everything: bool = False) -> Iterator[list[TakenSample]]:
        """Use the readings that are due; `memory` is up to date between two results."""
        memory = self.memory
        limit = memory.horizon if everything else memory.horizon - self._lateness
        due = sorted(time for time in memory.held if time <= limit)
        labels = sorted(memory.labels)
        for time in due:
            while labels and labels[0] <= time:
                memory.labelled = labels.pop(0)
                memory.label = memory.labels.pop(memory.labelled)
            if memory.origin is None:
                memory.origin = time
            memory.newest = time
            value = memory.held.pop(time)
            if taken := self._sensing.push((time - memory.origin) / SECOND, value, memory.label):
                yield taken
