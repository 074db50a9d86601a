"""Run a server process for benchmarks, with an empty handler beside the real handlers."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.bench.task import bench_task
from crowdml.demo import HUNG_AFTER_SECONDS, ServerProcess
from crowdml.errors import InvalidInput
from crowdml.server import BindAddress, Settings, Store
from crowdml.server.http import PublicAddress, create_app
from crowdml.server.operation import serve

SQLITE_PREFIX = "sqlite:///"
LISTENS = "0A"


class BenchServer(ServerProcess):
    """Run a server on loopback, without the portal."""

    @property
    def arguments(self) -> list[str]:
        address = [self.database, str(self.port), str(self.workers), self.tls or ""]
        return ["-m", "crowdml.bench.process", *address]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def await_workers(self) -> None:
        """Wait for all workers: the first that listens would get every connection."""
        deadline = time.monotonic() + HUNG_AFTER_SECONDS
        while self._listening() < self.workers and time.monotonic() < deadline:
            time.sleep(0.02)

    def _listening(self) -> int:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()]
        return sum(row[1].endswith(f":{self.port:04X}") and row[3] == LISTENS for row in rows)


@contextmanager
def prepared_server(database: str | None = None, tls: bool = False) -> Iterator[BenchServer]:
    """Prepare a server that has the tasks but has not started."""
    if database and database.startswith(SQLITE_PREFIX):
        # The server runs in its own folder.
        database = f"{SQLITE_PREFIX}{Path(database.removeprefix(SQLITE_PREFIX)).resolve()}"
    with tempfile.TemporaryDirectory(prefix="crowdml-bench-") as folder:
        server = BenchServer(Path(folder), "self-signed" if tls else None, shared=database)
        with closing(Store(server.database)) as store:
            if store.tasks():
                raise InvalidInput(
                    "the database must be empty: the benchmark fills it with check-ins that mean "
                    "nothing. Create a new one."
                )
            for mechanism in ("direction", "laplace"):
                store.create_task(bench_task(mechanism, mechanism=mechanism))
        yield server


def make_app(settings: Settings, public_address: PublicAddress) -> Starlette:
    routes = [Route("/bench/empty", empty, methods=["POST"])]
    return create_app(settings, public_address, extra_routes=routes)


async def empty(request: Request) -> Response:
    """Accept the same request as a check-in, and do nothing with it."""
    await request.body()
    return Response(b"{}", media_type="application/json")


def main(database: str, port: str, workers: str, tls: str) -> None:
    serve(
        Settings(
            database=database, joins_per_minute=1e9, joins_at_once=10**9, most_listeners=10**6
        ),
        BindAddress(port=int(port), tls=tls or None),
        make_app=make_app,
        workers=int(workers),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
