"""Run a server in its own process: for demonstrations, benchmarks and tests."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from crowdml.demo.ports import free_port
from crowdml.errors import CrowdmlError

HUNG_AFTER_SECONDS = 120.0
"""Seconds after which a process on a busy machine counts as hung."""


@dataclass
class ServerProcess:
    """Run `crowdml serve` on one port and one database, as often as it is started.

    Args:
        folder: The folder of its database, certificate and output.
        tls: `self-signed`, `CERT,KEY`, or None for plain HTTP.
        port: The port on loopback.
        shared: The database, where other servers have the same; None for one of its own.
        workers: Processes that share the port.
        options: Further ones of `crowdml serve`.
    """

    folder: Path
    tls: str | None = None
    port: int = field(default_factory=free_port)
    shared: str | None = None
    workers: int = 1
    options: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def file(self) -> Path:
        return self.folder / "server.db"

    @property
    def database(self) -> str:
        return self.shared or f"sqlite:///{self.file.resolve()}"

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the certificate, as the server announced it."""
        return self._said("fingerprint")[-1].split()[-1]

    @property
    def output(self) -> str:
        """Return everything that the server printed, over all its starts."""
        return self._log.read_text()

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of the Python interpreter."""
        tls = ["--tls", self.tls] if self.tls else []
        numbers = ["--port", str(self.port), "--workers", str(self.workers)]
        command = ["-m", "crowdml", "serve", "--database", self.database]
        return [*command, *numbers, *tls, *self.options]

    @property
    def _log(self) -> Path:
        return self.folder / "server.out"

    def launch(self) -> "subprocess.Popen[bytes]":
        """Start the server without waiting. Ctrl-C does not reach it; the caller must stop it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # The server runs the same package as this process, wherever it was imported from.
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-P", *self.arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def start(self) -> Self:
        """Start the server, and return when it listens."""
        before = len(self._said("listening on"))
        process = self.launch()
        deadline = time.monotonic() + HUNG_AFTER_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            if len(self._said("listening on")) > before:
                return self
            time.sleep(0.02)
        self.kill()
        raise CrowdmlError(f"the server did not start:\n{self.output}")

    def stop(self) -> int:
        """Send SIGTERM, and return the exit code."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        process.terminate()
        try:
            return process.wait(HUNG_AFTER_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def kill(self) -> None:
        """Send SIGKILL: no handler runs, nothing is flushed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *details: object) -> None:
        self.stop()

    def _said(self, words: str) -> list[str]:
        """Return the lines of the output that contain these words."""
        lines = self.output.splitlines() if self._log.exists() else []
        return [line for line in lines if words in line]
