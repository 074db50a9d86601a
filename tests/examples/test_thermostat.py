"""Run the tutorial's thermostat on the tutorial's task."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.cli.command import environment
from tests.examples.module import EXAMPLES
from tests.examples.room import room_task
from tests.support.servers import recompute, server_starter


def test_it_takes_part_and_leaves(tmp_path: Path) -> None:
    with server_starter(tmp_path) as start:
        server = start(room_task(), tls="self-signed")
        ran = subprocess.run(
            [sys.executable, str(EXAMPLES / "thermostat.py"), server.url, server.fingerprint],
            capture_output=True, text=True, env=environment(tmp_path), cwd=tmp_path, timeout=120,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, "")
        *outcomes, last = ran.stdout.splitlines()
        assert Counter(outcomes) == {"collected": 59, "checked in": 1}
        assert last == "spent so far: ε = 1"
        assert recompute(server.database, "room").version == 1
        with server.store() as store:
            (device,) = store.devices(store.task("room").id)
        assert device.status != "active"
    assert not list(tmp_path.glob("thermostat.device*"))
    assert (tmp_path / "participant.account").exists(), "everything that was sent, and no sample"
