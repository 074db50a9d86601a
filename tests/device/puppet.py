"""An HTTP server whose every answer a test writes."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec

from tests.device.fakes import MemoryTransport
from tests.servers import PATIENCE, make_task

__all__ = ["Answer", "Puppet", "Script", "serving"]

Answer = tuple[int, dict[str, str], bytes]


class Script(Protocol):
    """What a server answers."""

    def answer(self, method: str, path: str, body: bytes) -> Answer | None:
        """The answer to a request; None cuts the connection."""


class Puppet:
    """An HTTP server whose every answer a test writes; it remembers what was posted."""

    def __init__(self) -> None:
        self.memory = MemoryTransport(make_task())
        self.model: Answer = (200, {}, b"")
        self.checkin: Answer = (200, {}, b'{"version": 1, "status": "applied"}')
        self.checkins: list[bytes] = []

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        view = self.memory.task()
        if path.endswith("/devices"):
            return 201, {}, b'{"device": "d", "token": "t"}'
        if path.endswith("/model"):
            status, headers, model = self.model
            return status, {"Crowdml-Terms": view.terms_sha256} | headers, model
        if path.endswith("/checkins"):
            self.checkins.append(body)
            return self.checkin
        return 200, {}, msgspec.json.encode(view)


@contextmanager
def serving(puppet: Script) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None: ...

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            said = puppet.answer(self.command, self.path, body)
            if said is None:
                self.close_connection = True
                return
            status, headers, answer = said
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(answer))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
