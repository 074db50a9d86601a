"""Turn a sensor app's messages into samples on the device's disk."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import msgspec

from crowdml.device.agreement import Agreement
from crowdml.device.outcome import Outcome
from crowdml.device.sources.app_sensor import sensor_for_app
from crowdml.device.sources.feed import SourceCounts
from crowdml.device.sources.first_rows import LiveRowsCheck
from crowdml.device.sources.formats import APP_FORMATS, SECOND, Batch, SensorLogger, settings_link
from crowdml.device.sources.message_hints import MessageHints
from crowdml.device.sources.sensing import TakenSample, rarer
from crowdml.device.sources.stream import MOST_LABELS, SKEW, Label, Stream, StreamMemory
from crowdml.device.storage import DeviceStore, Position, TakenBefore, Trail
from crowdml.device.targets import typed_label
from crowdml.errors import DoubtfulRows, InvalidInput, InvalidSample

MOST_STREAMS = 20
MOST_HELD = 50_000
"""The most readings that wait while the buffer is full."""

MESSAGES_WITHOUT_READING = 10
"""Messages without a reading for the task, after which the person gets a hint."""


class Hint(InvalidSample):
    """Report a hint to the person with the app; the message's samples are kept."""


class Intake:
    """Read messages, and keep samples, unfinished windows and labels in one transaction.

    It uses the device's file apart from the `Device` that checks in, so a message need not wait
    for a server that is slow. All methods may be called from any thread.

    Args:
        store: A connection of its own to the device's file.
        format: One of `APP_FORMATS`.
        every: Seconds from one sample to the next, if more than the task has.
        clock: The time in nanoseconds.
        on_skip: Called with what was wrong with a message.

    Attributes:
        ended: Whether the device has ended, so that no more messages are taken.
    """

    def __init__(
        self,
        store: DeviceStore,
        format: str,
        every: float | None = None,
        clock: Callable[[], int] = time.time_ns,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        self.counts = SourceCounts(0)
        self.clock = clock
        self.ended = False
        self._store = store
        self._on_skip = on_skip
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._agree()
        sensor = sensor_for_app(self._agreement.terms, format)
        self.format = APP_FORMATS[format](sensor.kind)
        self._sensor = rarer(sensor, every)
        self._streams: dict[str, Stream] = {}
        self._rows_check = LiveRowsCheck(store, format)
        self._doubtful_samples: list[tuple[str, Stream, TakenSample]] = []
        self._hints = MessageHints(self.format.advice, MESSAGES_WITHOUT_READING)
        self._set_labels: dict[int, str | None] = {}
        self._changed = self.clock()

    def setup_link(self, url: str) -> str:
        """Return a link that sets up the app to post to this address; empty if it knows none."""
        if not isinstance(self.format, SensorLogger):
            return ""
        return settings_link(self._sensor.kind, self._sensor.rate, url)

    # Labels

    @property
    def has_room(self) -> bool:
        """Return whether the next sample can be kept."""
        with self._lock:
            self._agree()
            return self._has_room()

    @property
    def label(self) -> str | None:
        """Return the label that a person has set on this machine."""
        current = self._store.streams.label
        return current.label if current else None

    def _read_label(self, text: str) -> Label:
        return typed_label(text, self._agreement.terms.target.labels)

    # Messages

    def take(self, body: bytes, topic: str = "", arrival: int | None = None) -> Outcome:
        """Keep the samples that a message completes; FULL and ENDED leave the message untaken.

        While `doubt` waits for an answer, nothing is kept: the outcome is FULL.

        Raises:
            Hint: The message is taken, and the person should know something.
            InvalidSample: It is not a message of the app; nothing was kept.
        """
        with self._lock:
            now = self.clock() if arrival is None else arrival
            batch = self.format.parse(body, now, topic)
            ahead = batch.latest + batch.offset
            if ahead - now > SKEW:
                raise InvalidSample(
                    f"times must not be ahead of this machine's clock, found one that is "
                    f"{(ahead - now) / SKEW:.1f} hours ahead. Set both clocks."
                )
            return self._take(batch)

    # Doubt about the first rows

    @property
    def doubt(self) -> str | None:
        """Return why the app's first rows cannot be in the task's units; None without doubt."""
        return self._rows_check.doubt

    def resolve_doubt(self, on_doubt: Callable[[str], bool]) -> None:
        """Ask what to do about doubtful rows, if there are any.

        Args:
            on_doubt: Called with the reason for the doubt; returns whether to go on. Messages that
                come meanwhile are not taken.

        Raises:
            DoubtfulRows: The answer was no. The rows are forgotten, and nothing was spent on them.
        """
        doubt = self.doubt
        if doubt is None:
            return
        go_on = on_doubt(doubt)
        with self._lock:
            doubtful, self._doubtful_samples = self._doubtful_samples, []
            if not go_on:
                self._rows_check.reject()
                raise DoubtfulRows(doubt)
            self._rows_check.accept()
            for path, stream, sample in doubtful:
                self._keep(path, stream, sample)

    def finish(self, on_doubt: Callable[[str], bool]) -> None:
        """Use all readings that wait, and ask about doubtful rows as `resolve_doubt` does."""
        self.flush()
        self.resolve_doubt(on_doubt)
        self.flush()  # use the readings that waited while the question was open

    # Readings that wait

    def flush(self) -> None:
        """Use all readings that wait for earlier ones, because no earlier ones are expected."""
        with self._lock, suppress(InvalidInput):
            self._agree()
            for path, stream in self._streams.items():
                if stream.n_held:
                    self._drain(path, stream, everything=True)

    def flush_if_quiet(self) -> None:
        """Call `flush` if no message has come for the time that readings wait."""
        with self._lock:
            self._note_label()
        if self.clock() - self._changed > self.format.lateness * SECOND:
            self.flush()

    def wait_for_a_sample(self, seconds: float) -> None:
        """Return when a sample is kept, or after this time."""
        if self._news.wait(seconds):
            self._news.clear()

    def newest(self, stream: str) -> int | None:
        """Return the time of the newest reading of a stream that was used."""
        with self._lock:
            found = self._stream(stream).memory.newest
        return None if found < 0 else found

    def _take(self, batch: Batch) -> Outcome:
        self._agree()
        if self._ended or self.ended:
            return Outcome.ENDED
        if self.doubt:
            return Outcome.FULL
        stream = self._stream(batch.stream)
        if stream.n_held > MOST_HELD and not self._drain(batch.stream, stream):
            return Outcome.FULL
        problems: list[InvalidSample] = []

        def read_label(text: str) -> Label:
            try:
                return self._read_label(text)
            except InvalidSample as error:
                problems.append(error)
                return None

        stream.accept(batch, read_label, self._read_label(self.label or ""))
        self._changed = self.clock()
        self._drain(batch.stream, stream)
        self.counts.lines += 1
        known = stream.memory.label is not None or bool(self._set_labels)
        hint = self._hints.hint(batch, known)
        if problems or hint:
            raise Hint(str(problems[0]) if problems else hint or "")
        return Outcome.COLLECTED

    def _stream(self, path: str) -> Stream:
        stream = self._streams.get(path)
        if stream is None:
            if len(self._streams) >= MOST_STREAMS:
                self._streams.pop(next(iter(self._streams)))
            document = self._store.streams.read(path)
            memory = None
            with suppress(msgspec.DecodeError):  # written by another version: begin anew
                memory = document and msgspec.msgpack.decode(document, type=StreamMemory)
            count = self._agreement.terms.features.count
            stream = Stream(self._sensor, count, self.format.lateness, memory or None)
            self._streams[path] = stream
        self._note_label()
        for at, label in self._set_labels.items():
            stream.command(at, self._read_label(label or ""))
        return stream

    def _note_label(self) -> None:
        """Remember the current label: an app may be away while a person sets several labels."""
        if current := self._store.streams.label:
            self._set_labels[current.at] = current.label
            if len(self._set_labels) > MOST_LABELS:
                del self._set_labels[min(self._set_labels)]

    # Samples

    def _drain(self, path: str, stream: Stream, everything: bool = False) -> bool:
        """Keep the samples that are due; return False without room for more."""
        room, n_kept = self._has_room(), self.counts.kept
        if room:
            for taken in stream.drain(everything):
                for sample in taken:
                    self._keep(path, stream, sample)
                room = self._has_room()
                if not room:
                    break
        if self.format.forgotten or self.counts.kept > n_kept:
            self._store.streams.write(path, stream.encoded(self.format.forgotten))
        return room

    def _has_room(self) -> bool:
        room = self._store.n_samples < self._agreement.terms.collection.buffer
        return room and not self.doubt

    def _keep(self, path: str, stream: Stream, sample: TakenSample) -> None:
        if not self._rows_check.check_before_checkin(self._agreement.terms, sample.x):
            self._doubtful_samples.append((path, stream, sample))
            self._news.set()
            return None
        try:
            x, y = self._agreement.features(sample.x.tolist()), self._agreement.target(sample.y)
        except InvalidSample as error:
            self.counts.skipped += 1
            return self._on_skip(error)
        known_by = f"{path}\n{sample.time!r}\n".encode() + sample.x.tobytes()
        mark = self._trail.mark(sha256(known_by).hexdigest())
        document = stream.encoded(self.format.forgotten)
        position = Position(path, 0, "", mark, document)
        most = self._agreement.terms.collection.buffer
        try:
            kept = self._store.add(x, y, most, position, durable=self.format.forgotten)
        except TakenBefore:
            self.counts.taken += 1
            return None
        if kept is None:  # another process has filled the buffer in between
            self.counts.skipped += 1
            return self._on_skip(InvalidSample("not kept, because the buffer is full."))
        self.counts.kept += 1
        self._news.set()
        return None

    def _agree(self) -> None:
        """Read the current agreement; another process may have changed it."""
        if not hasattr(self, "_agreement") or self._store.changed():
            identity = self._store.joined
            self._agreement = Agreement(identity)
            self._ended = identity.ended
            self._trail = Trail(self._store.account, identity.task)
