"""A server process for benchmarks, with an empty handler beside the real ones."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.bench.task import bench_task
from crowdml.server import Address, ServerProcess, Settings, Store
from crowdml.server.api import create_app
from crowdml.server.serve import serve

__all__ = ["BenchServer", "bench_server_process"]


class BenchServer(ServerProcess):
    """Plain HTTP on loopback: what is measured is the service, not the cipher."""

    @property
    def arguments(self) -> list[str]:
        return ["-m", "crowdml.bench.process", self.database, str(self.port)]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid


@contextmanager
def bench_server_process() -> Iterator[BenchServer]:
    with tempfile.TemporaryDirectory(prefix="crowdml-bench-") as folder:
        server = BenchServer(Path(folder))
        with closing(Store(server.database)) as store:
            for mechanism in ("direction", "laplace"):
                store.create_task(bench_task(mechanism, mechanism=mechanism))
        with server:
            yield server


async def empty(request: Request) -> Response:
    """Takes the same request as a check-in, and does nothing with it."""
    await request.body()
    return Response(b"{}", media_type="application/json")


if __name__ == "__main__":
    serve(
        Settings(database=sys.argv[1]),
        Address(port=int(sys.argv[2])),
        make_app=partial(create_app, extra_routes=[Route("/bench/empty", empty, methods=["POST"])]),
    )
