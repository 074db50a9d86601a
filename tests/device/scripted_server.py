"""Provide an HTTP server whose every answer is written by a test."""

import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec

from tests.device.fakes import MemoryTransport
from tests.support.servers import PATIENCE, make_task

Answer = tuple[int, dict[str, str], bytes]


class Script(Protocol):
    """Decide what a server answers."""

    def answer(self, method: str, path: str, body: bytes) -> Answer | None:
        """Return the answer to a request; None cuts the connection."""


class ScriptedServer:
    """Answer as a test has written, and remember what was posted."""

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
def serving(script: Script, tls: Callable[[], ssl.SSLContext] | None = None) -> Iterator[str]:
    """Serve a script's answers on this machine.

    Args:
        script: What to answer.
        tls: Asked for each connection, so that a test can change the server's certificate.
    """

    class Server(http.server.ThreadingHTTPServer):
        def get_request(self) -> tuple[socket.socket, Any]:
            connection, address = super().get_request()
            if tls:
                # The handshake comes with the first byte that is read, in the request's own thread.
                connection = tls().wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
            return connection, address

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore the errors of a device that does not trust this server."""
            if not tls:
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None: ...

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            said = script.answer(self.command, self.path, body)
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

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        where = "https://localhost" if tls else "http://127.0.0.1"
        yield f"{where}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
