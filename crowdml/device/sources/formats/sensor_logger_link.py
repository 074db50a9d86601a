"""Make the link that sets up Sensor Logger on a phone: its sensor, its pace and its address."""

from base64 import b64encode

import msgspec

PREFIX = "sensorlogger://config/"
BATCH_MS = 1000
"""How often the app posts what it has read."""

SETTINGS: dict[str, tuple[str, int | str | None]] = {
    "motion": ("Accelerometer", None),
    "light": ("Light", None),
    "speed": ("Location", 1000),
    "sound": ("Microphone", "disable"),  # it tells how loud it is, and records no sound
}
"""The app's switch for each sensor, and its pace; None for the pace of the task."""


def settings_link(kind: str, hertz: float, url: str) -> str:
    """Return a link that switches on the task's sensor and posts its readings to the address.

    The app writes such links itself (Settings, Export, Share & Restore, Copy Deep Link). They hold
    JSON, compressed with Zstandard, in base64.
    """
    name, pace = SETTINGS[kind]
    settings = {
        "sensorState": {name: {"enabled": True, "speed": pace or max(1, round(1000 / hertz))}},
        "http": {"enabled": True, "url": url, "batchPeriod": BATCH_MS},
    }
    return PREFIX + b64encode(_zstandard_frame(msgspec.json.encode(settings))).decode()


def _zstandard_frame(content: bytes) -> bytes:
    """Store up to 65 KB as a Zstandard frame of one raw block (RFC 8878), without a library."""
    n = len(content)
    # One segment; its length takes one byte, or two bytes that count from 256.
    header = bytes([0x20, n]) if n < 256 else b"\x60" + (n - 256).to_bytes(2, "little")
    last_raw_block = (n << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd" + header + last_raw_block + content
