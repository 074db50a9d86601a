"""A real PostgreSQL, started for one run of the tests and thrown away after it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from crowdml.demo import free_port

__all__ = ["Postgres", "running_postgres"]

SETTINGS = ("fsync=on", "max_connections=50", "shared_buffers=32MB", "unix_socket_directories=")


def postgres_program(name: str) -> str:
    """Debian keeps the programs of each version in a folder of its own, which is in no PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: one.parent.name)
    path = os.pathsep.join([*map(str, reversed(folders)), os.environ["PATH"]])
    found = shutil.which(name, path=path)
    assert found, f"the tests need PostgreSQL's {name}; `make test` installs it"
    return found


@dataclass
class Postgres:
    """A cluster on one port for its whole life, however often it starts.

    Args:
        folder: Where its files are.
        port: On loopback.
    """

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://crowdml@127.0.0.1:{self.port}/{database}"

    def create(self) -> "Postgres":
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root; Debian's package has made a user for it.
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-D", str(self.data), "-U", "crowdml", "--auth=trust", "--no-sync")
        return self.start()

    def start(self) -> "Postgres":
        options = " ".join(f"-c {setting}" for setting in SETTINGS)
        self._run(
            *("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.folder / "log")),
            *("-o", f"-p {self.port} -h 127.0.0.1 {options}", "start"),
        )
        return self

    def stop(self, how: str = "fast") -> None:
        """`immediate` is as good as pulling the plug."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", how, "stop")

    def make(self, database: str) -> str:
        """A new empty database; its URL."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def _run(self, program: str, *arguments: str) -> None:
        who = {"user": "postgres"} if os.getuid() == 0 else {}
        subprocess.run(
            [postgres_program(program), *arguments],
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            **who,  # type: ignore[call-overload]
        )


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """In a folder of its own: nobody but root may look into those of pytest."""
    with TemporaryDirectory(prefix="crowdml-postgres-", ignore_cleanup_errors=True) as folder:
        postgres = Postgres(Path(folder)).create()
        try:
            yield postgres
        finally:
            with suppress(subprocess.CalledProcessError):
                postgres.stop("immediate")
