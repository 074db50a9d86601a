"""Count the instructions of a check-in with Valgrind, which no load on the machine changes.

python benchmarks/instructions.py
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from crowdml import one_file_device as standalone
from crowdml.bench.process import prepared_server
from crowdml.bench.task import BATCH, CLASSES, FEATURES

COUNTED = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
FEW, MANY = 1, 5
"""The check-ins of two runs: their difference is due to the check-ins, the rest to the start."""

PACKAGE = """
import csv, sys
from crowdml import Device
url, fingerprint, file, source = sys.argv[1:]
device = Device.join(url, "direction", file=file, fingerprint=fingerprint, accept_no_privacy=True)
for line in csv.reader(open(source)):
    device.add([float(value) for value in line[:-1]], int(line[-1]))
device.close()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, prepared_server(tls=True) as server, server:
        folder, counts = Path(name), {}
        for checkins in (FEW, MANY):
            source = folder / f"{checkins}.csv"
            source.write_text("".join(map(_line, range(BATCH * checkins))))
            counts["package", checkins] = _count(
                "-c", PACKAGE, server.url, server.fingerprint, folder / f"{checkins}.device", source
            )
            alone = [standalone.__file__, "--file", folder / f"{checkins}.sqlite"]
            link = ["join", f"{server.url}/join/direction", "--fingerprint", server.fingerprint]
            _run(sys.executable, *alone, *link, "--yes", "--accept-no-privacy")
            counts["one file", checkins] = _count(*alone, "run", "--source", source)
    for device in ("package", "one file"):
        each = (counts[device, MANY] - counts[device, FEW]) / (MANY - FEW)
        start = counts[device, FEW] - FEW * each
        print(f"{device}: {start / 1e6:.0f} million to start, {each / 1e6:.1f} million a check-in")


def _line(k: int) -> str:
    values = [(1 + k % BATCH) * (2 * i / (FEATURES - 1) - 1) for i in range(FEATURES)]
    return ",".join(map(str, [*values, k % CLASSES])) + "\n"


def _count(*arguments: object) -> int:
    """Count the instructions of a Python program."""
    said = _run(*COUNTED, sys.executable, *arguments)
    return int(re.findall(r"I +refs: +([\d,]+)", said)[0].replace(",", ""))


def _run(*command: object) -> str:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


if __name__ == "__main__":
    main()
