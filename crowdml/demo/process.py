"""The server of the demo, in its own process."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crowdml.errors import CrowdmlError
from crowdml.protocol import Task
from crowdml.server import Store, free_port

__all__ = ["server_process"]


@contextmanager
def server_process(folder: Path, task: Task) -> Iterator[tuple[str, str]]:
    """The address and fingerprint of a server with a fresh database that holds this task."""
    folder.mkdir(parents=True, exist_ok=True)
    database = f"sqlite:///{folder / 'server.db'}"
    store = Store(database)
    store.create_task(task)
    store.close()
    port = free_port()
    command = [sys.executable, "-m", "crowdml", "serve", "--database", database]
    command += ["--port", str(port), "--tls", "self-signed"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    try:
        fingerprint = process.stdout.readline().rpartition(" ")[2].strip()
        if "listening" not in process.stdout.readline():
            raise CrowdmlError(f"the server did not start: {' '.join(command)}")
        yield f"https://127.0.0.1:{port}", fingerprint
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
