"""The link that sets up Sensor Logger, read back with the system's own Zstandard."""

import ctypes
import json
from base64 import b64decode
from typing import Any

import pytest

from crowdml.device.sources.formats import APP_FORMATS, settings_link
from crowdml.device.sources.formats.sensor_logger_link import PREFIX

URL = "http://192.168.1.99:8000/0123456789abcdef0123"


def decompress(frame: bytes) -> bytes:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("this machine has no libzstd.so.1 (apt install libzstd1)")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    content = ctypes.create_string_buffer(100_000)
    n = library.ZSTD_decompress(content, len(content), frame, len(frame))
    assert not library.ZSTD_isError(ctypes.c_size_t(n)), n
    return content.raw[:n]


def settings_of(link: str) -> Any:
    assert link.startswith(PREFIX)
    return json.loads(decompress(b64decode(link.removeprefix(PREFIX), validate=True)))


@pytest.mark.parametrize(
    ("kind", "name", "speed"),
    [
        ("motion", "Accelerometer", 20),
        ("light", "Light", 20),
        ("speed", "Location", 1000),
        ("sound", "Microphone", "disable"),
    ],
)
def test_it_switches_on_the_sensor_of_the_task_alone(
    kind: str, name: str, speed: int | str
) -> None:
    assert settings_of(settings_link(kind, 50.0, URL)) == {
        "sensorState": {name: {"enabled": True, "speed": speed}},
        "http": {"enabled": True, "url": URL, "batchPeriod": 1000},
    }


@pytest.mark.parametrize("n", [0, 97, 98, 99, 100, 101, 102, 1000, 60_000])
def test_addresses_of_any_length(n: int) -> None:
    """Check lengths around 256 bytes too, where the frame's header changes."""
    url = "http://" + n * "a"
    assert settings_of(settings_link("motion", 20.0, url))["http"]["url"] == url


@pytest.mark.parametrize(("hertz", "speed"), [(0.01, 100_000), (20.0, 50), (1000.0, 1)])
def test_the_pace_of_the_task_in_milliseconds(hertz: float, speed: int) -> None:
    state = settings_of(settings_link("motion", hertz, URL))["sensorState"]
    assert state == {"Accelerometer": {"enabled": True, "speed": speed}}


def test_every_sensor_of_the_app_has_its_settings() -> None:
    for kind in APP_FORMATS["sensor-logger"].kinds:
        assert settings_link(kind, 20.0, URL)
