"""Find the task's sensor for a sensor app."""

from crowdml.device.sources.formats import APP_FORMATS
from crowdml.errors import InvalidInput
from crowdml.protocol import Sensor, Terms


def sensor_for_app(terms: Terms, format: str) -> Sensor:
    """Return the task's sensor, if an app with this format has it."""
    sensor = terms.features.sensor
    if sensor is None or sensor.registered.typed_in:
        raise InvalidInput(
            "readings need a task with [features.sensor] that has readings, found none. "
            "Give the features themselves."
        )
    if sensor.kind not in APP_FORMATS[format].kinds:
        have = sorted(name for name, kind in APP_FORMATS.items() if sensor.kind in kind.kinds)
        raise InvalidInput(
            f"the task reads {sensor.kind}, which {format} does not have. "
            f"Use one of {', '.join(have) or 'none'}, or a CSV file with --readings."
        )
    return sensor
