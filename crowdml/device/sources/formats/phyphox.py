"""Read phyphox, for iOS and Android: buffers of numbers, fetched from the phone."""

import math
from typing import Any, ClassVar, NamedTuple

from crowdml.device.sources.formats.batch import (
    SECOND,
    Batch,
    SensorReading,
    length,
    number_in,
    read_document,
)
from crowdml.errors import InvalidInput, InvalidSample

INPUTS = {
    "motion": ("accelerometer", "linear_acceleration"),
    "light": ("light",),
    "speed": ("location",),
}
"""phyphox's names of each sensor, in order of preference."""

USUAL_BUFFERS = {
    "motion": ("acc_time", ("accX", "accY", "accZ")),
    "light": ("illum_time", ("illum",)),
    "speed": ("t", ("v",)),
}
"""The buffers of phyphox's own experiments, for versions that do not name their inputs."""

LARGEST_SECONDS = 1e9


class Buffers(NamedTuple):
    """Name the buffer of times, and the buffers of a reading or of its three parts."""

    times: str
    values: tuple[str, ...]


class Phyphox:
    """Read `{"buffer": {"acc_time": {"buffer": [20.1, …]}, …}, "status": {"session": …}}`.

    Times are seconds since the experiment was started, so each session has a separate clock. The
    newest number that arrives shows the current time of that clock.
    """

    kinds: ClassVar = frozenset(INPUTS)
    sources: ClassVar = frozenset({"phyphox"})
    lateness: ClassVar = 0.0
    forgotten: ClassVar = False
    advice: ClassVar = "In phyphox, open an experiment that records the sensor, and start it"

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.buffers = Buffers(*USUAL_BUFFERS[kind])
        self.measuring = False

    def configure(self, body: bytes) -> None:
        """Find the buffers in the answer to /config.

        Raises:
            InvalidInput: The experiment does not have the sensor.
        """
        document = read_document(body, '{"buffers": […], "inputs": […]}')
        inputs = {str(entry.get("source")): entry for entry in _tables(document.get("inputs"))}
        names = {str(entry.get("name")) for entry in _tables(document.get("buffers"))}
        for source in INPUTS[self._kind]:
            outputs = _outputs(inputs.get(source, {}).get("outputs"))
            parts = ("v",) if self._kind == "speed" else ("x", "y", "z")
            values = tuple(outputs[part] for part in parts if part in outputs)
            if self._kind == "motion" and len(values) < 3:
                values = (outputs["abs"],) if "abs" in outputs else ()
            if values and "t" in outputs:
                self.buffers = Buffers(outputs["t"], values)
                return
        usual = Buffers(*USUAL_BUFFERS[self._kind])
        if not {usual.times, *usual.values} <= names:
            raise InvalidInput(
                f"the experiment {str(document.get('title'))!r} on the phone must record "
                f"{INPUTS[self._kind][0]}, found buffers {', '.join(sorted(names)) or 'none'}. "
                "Open another one in phyphox, such as Acceleration with g."
            )
        self.buffers = usual

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        document = read_document(body, '{"buffer": {…}, "status": {…}}')
        found, status = document.get("buffer"), document.get("status")
        if not isinstance(found, dict) or not isinstance(status, dict):
            raise InvalidSample('expected {"buffer": {…}, "status": {…}} from phyphox.')
        times, *values = (
            _buffer(found, name) for name in (self.buffers.times, *self.buffers.values)
        )
        readings = []
        for time, *parts in zip(times, *values, strict=False):
            second = number_in(time)
            value = number_in(parts[0]) if len(parts) == 1 else length(parts)
            if abs(second) <= LARGEST_SECONDS and not math.isnan(value):
                readings.append(SensorReading(round(second * SECOND), value))
        session, self.measuring = str(status.get("session")), status.get("measuring") is True
        return Batch(
            f"phyphox:{session}",
            readings,
            session=session,
            origin=0,
            offset=arrival - max(readings).time if readings else 0,
            whole=found[self.buffers.times].get("updateMode") == "full",
            foreign=() if readings else ("no new readings",),
            running=self.measuring,
        )


def _tables(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _outputs(value: object) -> dict[str, str]:
    """Return an input's buffers by their part: a list of tables, or one table."""
    tables = _tables(value) or ([value] if isinstance(value, dict) else [])
    return {part: str(name) for table in tables for part, name in table.items()}


def _buffer(found: dict[str, Any], name: str) -> list[object]:
    entry = found.get(name)
    values = entry.get("buffer") if isinstance(entry, dict) else None
    if not isinstance(values, list):
        raise InvalidSample(f"expected the buffer {name!r} from phyphox, found none.")
    return values
