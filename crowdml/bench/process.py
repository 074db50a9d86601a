"""A server process for benchmarks, with an empty handler beside the real ones."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.bench.task import bench_task
from crowdml.server import Address, Settings, Store, free_port, serve

__all__ = ["Running", "bench_server_process"]


class Running(NamedTuple):
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def bench_server_process() -> Iterator[Running]:
    """Plain HTTP on loopback: what is measured is the service, not the cipher."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="crowdml-bench-") as folder:
        database = f"sqlite:///{folder}/bench.db"
        store = Store(database)
        store.create_task(bench_task())
        store.close()
        command = [sys.executable, "-m", "crowdml.bench.process", database, str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield Running(port, process.pid)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


async def empty(request: Request) -> Response:
    """Takes the same request as a check-in, and does nothing with it."""
    await request.body()
    return Response(b"{}", media_type="application/json")


if __name__ == "__main__":
    serve(
        Settings(database=sys.argv[1]),
        Address(port=int(sys.argv[2])),
        announce=lambda text: print(text, flush=True),
        extra_routes=[Route("/bench/empty", empty, methods=["POST"])],
    )
