"""Feed a device from a topic of an MQTT broker."""

from collections.abc import Callable
from hashlib import sha256

from crowdml.device.device import Device
from crowdml.device.outcome import Outcome
from crowdml.device.sources.feed import SourceCounts
from crowdml.device.sources.first_rows import FirstRowsCheck
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.intake import Hint, Intake
from crowdml.device.sources.mqtt.broker import Broker, TopicMessage
from crowdml.device.sources.mqtt.discovery import Discovery
from crowdml.device.storage import Position
from crowdml.errors import InvalidSample

CHECK_SECONDS = 0.5
"""Seconds between two checks for other work while no message arrives."""

LARGEST_MESSAGE = 2**24
"""The most bytes of a message that is read, so that no message uses up the device's memory."""

NOT_KEPT = "not kept, {outcome}, and with QoS 0 it cannot wait. Publish with 1."


def session_name(device: Device, topic: str) -> str:
    """Return the name of the session in which this device reads this topic.

    Each topic has its own session, because a session keeps all its subscriptions. Every broker must
    accept 23 letters and digits.
    """
    return "crowdml" + sha256(f"{device.identity.device}\n{topic}".encode()).hexdigest()[:16]


def feed_from_topic(
    device: Device,
    broker: Broker,
    client: str,
    *,
    discovery: Discovery | None = None,
    stopped: Callable[[], bool] = lambda: False,
    label: str | None = None,
    intake: Intake | None = None,
    on_skip: Callable[[InvalidSample], None] = lambda error: None,
    on_note: Callable[[str], None] = lambda note: None,
    on_doubt: Callable[[str], bool] = lambda said: False,
) -> SourceCounts:
    """Give every sample of a topic to the device, until it is stopped or has ended.

    Args:
        client: The name of the broker's session.
        discovery: What is published about the device for Home Assistant.
        label: The key of y, where the task names its columns.
        intake: For messages of a sensor app, which are readings; otherwise they are samples.
        on_skip: Called with what was wrong with a skipped message.
        on_note: Called when the topic is being read, and with each key that is ignored, once.
        on_doubt: As for `feed`.
    """
    reader: _SampleReader | _ReadingReader
    if intake:
        reader = _ReadingReader(intake, on_skip)
    else:
        form = SampleForm.of(device.terms.features, label=label, on_note=on_note)
        reader = _SampleReader(device, client, form, on_skip, on_doubt)
    counts, before = reader.counts, device.n_answered
    ready = False
    while not (stopped() or device.ended):
        broker.poll(CHECK_SECONDS)
        if broker.ready and not ready:
            on_note(f"connected, listening on {broker.address.topic}")
        ready = broker.ready
        while broker.inbox and reader.take(broker.inbox[0]):
            broker.acknowledge()
            if intake:
                intake.resolve_doubt(on_doubt)
                counts.outcome = device.sync()
        if intake:
            intake.flush_if_quiet()
            intake.resolve_doubt(on_doubt)
        counts.outcome = device.sync()
        if discovery:
            discovery.announce(broker, device, counts.outcome)
    broker.leave(for_good=bool(device.ended))
    if intake:
        intake.finish(on_doubt)
        counts.outcome = device.sync()
    counts.answered = device.n_answered - before
    return counts


class _SampleReader:
    """Read messages as samples; the device remembers the last message that it kept."""

    def __init__(
        self,
        device: Device,
        client: str,
        form: SampleForm,
        on_skip: Callable[[InvalidSample], None],
        on_doubt: Callable[[str], bool] = lambda said: False,
    ) -> None:
        self.counts = SourceCounts(0)
        self._form = form
        self._device = device
        self._labels = device.terms.target.labels
        self._path = f"mqtt:{client}"
        self._on_skip = on_skip
        self._rows_check = FirstRowsCheck(
            device, on_doubt, known=device.position(self._path) is not None
        )

    def take(self, message: TopicMessage) -> bool:
        """Return whether a message is done: kept, kept before, skipped, or empty."""
        if message.payload.strip() and not self._was_kept(message):
            try:
                if not self._keep(message):
                    return False
            except InvalidSample as error:
                self.counts.skipped += 1
                self._on_skip(InvalidSample(f"message {self.counts.lines + 1}: {error}"))
        self.counts.lines += 1
        return True

    def _was_kept(self, message: TopicMessage) -> bool:
        last = self._device.position(self._path)
        return message.repeated and last is not None and last.sha256 == message.sha256

    def _keep(self, message: TopicMessage) -> bool:
        check_size(message.payload)
        x, y = self._form.read_json(message.payload.decode(errors="replace"), self._labels)
        # A message of QoS 0 does not show whether the message before it will be repeated.
        position = (
            Position(self._path, self.counts.lines + 1, message.sha256) if message.number else None
        )
        self._rows_check.check_before_checkin(x)
        outcome = self._device.add(x, y, position, durable=True)
        if outcome in (Outcome.FULL, Outcome.ENDED):
            if message.number:
                return False
            raise InvalidSample(NOT_KEPT.format(outcome=outcome))
        self.counts.kept += 1
        return True


class _ReadingReader:
    """Read messages of a sensor app; a repeated reading is recognised by its time."""

    def __init__(self, intake: Intake, on_skip: Callable[[InvalidSample], None]) -> None:
        self.counts = intake.counts
        self._intake = intake
        self._on_skip = on_skip

    def take(self, message: TopicMessage) -> bool:
        """Return whether a message is done; QoS 1 waits at the broker while the buffer is full."""
        try:
            check_size(message.payload)
            outcome = self._intake.take(message.payload, message.topic)
            if outcome in (Outcome.FULL, Outcome.ENDED):
                if message.number:
                    return False
                raise InvalidSample(NOT_KEPT.format(outcome=outcome))
        except InvalidSample as error:
            if isinstance(error, Hint):
                self._on_skip(error)
            else:
                self.counts.skipped += 1
                self._on_skip(InvalidSample(f"message {self.counts.lines + 1}: {error}"))
        return True


def check_size(payload: bytes) -> None:
    """Raise if a message is too large to be read."""
    if len(payload) > LARGEST_MESSAGE:
        raise InvalidSample(
            f"a message must have at most {LARGEST_MESSAGE:,} bytes, found {len(payload):,}."
        )
