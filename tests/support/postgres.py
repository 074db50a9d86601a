"""Run a real PostgreSQL for one run of the tests, and delete it afterwards."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from crowdml.demo import free_port

SETTINGS = ("fsync=on", "max_connections=50", "shared_buffers=32MB", "unix_socket_directories=")


def postgres_program(name: str) -> str:
    """Find a program of PostgreSQL.

    Debian keeps the programs of each version in a folder that is not on the PATH.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: one.parent.name)
    path = os.pathsep.join([*map(str, reversed(folders)), os.environ["PATH"]])
    found = shutil.which(name, path=path)
    assert found, f"the tests need PostgreSQL's {name}; `make test` installs it"
    return found


@dataclass
class Postgres:
    """Run a cluster on one port, however often it starts.

    Args:
        folder: The folder for its files.
        port: The port on loopback.
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
        """Stop the cluster; `immediate` stops it as a power failure would."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", how, "stop")

    def make(self, database: str) -> str:
        """Make a new empty database, and return its URL."""
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
    """Run a cluster in a folder outside of pytest's, which only root may read."""
    with TemporaryDirectory(prefix="crowdml-postgres-", ignore_cleanup_errors=True) as folder:
        postgres = Postgres(Path(folder)).create()
        try:
            yield postgres
        finally:
            with suppress(subprocess.CalledProcessError):
                postgres.stop("immediate")
