"""Run a device in a separate process: `python device_process.py '{"file": …, "url": …}'`.

Sample i is the i-th unit vector, so that without noise the gradient shows which samples it used.
Each line of the diary is the number of a sample that `add` has taken, written after it returned.
With `kill`, the process kills itself at that step of a check-in, as a battery does.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

from crowdml.device import Device, Outcome, RetryTimer
from tests.integration.crowd import PARITY


def main() -> None:
    options = json.loads(sys.argv[1])

    def on_step(step: str) -> None:
        if step == options["kill"]:
            os.kill(os.getpid(), signal.SIGKILL)

    device = Device.join(
        options["url"],
        "activity",
        file=options["file"],
        accept_no_privacy=True,
        retry_timer=RetryTimer(base=0.001, longest=0.01),
        on_step=on_step,
    )
    with device, Path(options["diary"]).open("a") as diary:
        for i in options["samples"]:
            x = np.zeros(options["features"])
            x[i] = 1.0
            if device.add(x, PARITY[i % 2]) not in (Outcome.FULL, Outcome.ENDED):
                diary.write(f"{i}\n")
                diary.flush()
        device.flush(seconds=20.0)


if __name__ == "__main__":
    main()
