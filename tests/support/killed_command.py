"""Run `crowdml`, and kill it after the Nth call of a step: `python killed_command.py STEP N …`."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from crowdml.cli import main
from crowdml.device import DeviceStore, HttpTransport
from crowdml.device.sources.mqtt.broker import Broker

STEPS: dict[str, tuple[type, str]] = {
    "received": (Broker, "_on_message"),
    "stored": (DeviceStore, "add"),
    "acknowledged": (Broker, "acknowledge"),
    "released": (DeviceStore, "release"),
    "sent": (HttpTransport, "checkin"),
    "answered": (DeviceStore, "store_answer"),
}


def deadly(function: Callable[..., Any], times: int) -> Callable[..., Any]:
    """Call the function until it was called `times` times, then kill the process."""
    calls = 0

    def killing(*arguments: Any) -> Any:
        nonlocal calls
        result = function(*arguments)
        calls += 1
        if calls == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return killing


if __name__ == "__main__":
    _, step, times, *arguments = sys.argv
    owner, name = STEPS[step]
    setattr(owner, name, deadly(getattr(owner, name), int(times)))
    sys.argv = ["crowdml", *arguments]
    main()
