"""Compress pages, pictures, lists and models for clients that ask for it."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdml.server.content_coding import best_coding, compress
from crowdml.server.http.body import header

SMALLEST_COMPRESSED = 512
"""Bytes below which compression is not worth it, because the answer fits into one packet."""

COMPRESSED_TYPES = ("text/html", "text/plain", "text/csv", "image/svg+xml", "application/json")


class Compression:
    """Wrap an app, and compress answers to GET that come in one piece.

    Streams, compressed content, and answers to check-ins pass unchanged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        coding = ""
        if scope["type"] == "http" and scope["method"] == "GET":
            coding = best_coding(header(scope, b"accept-encoding"))
        await self._app(scope, receive, _CompressedResponse(send, coding) if coding else send)


class _CompressedResponse:
    """Hold the head back until the body shows whether compression is worth it."""

    def __init__(self, send: Send, coding: str) -> None:
        self._send, self._coding = send, coding
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _suits(message):
            self._head = message
            return
        head, self._head = self._head, None
        if head is not None:
            body, more = message.get("body", b""), message.get("more_body", False)
            if not more and len(body) >= SMALLEST_COMPRESSED:
                smaller = compress(body, self._coding)
                message = {"type": "http.response.body", "body": smaller}
                headers = MutableHeaders(raw=head["headers"])
                headers["Content-Encoding"] = self._coding
                headers["Content-Length"] = str(len(smaller))
                headers.add_vary_header("Accept-Encoding")
            await self._send(head)
        await self._send(message)


def _suits(start: Message) -> bool:
    headers = MutableHeaders(raw=start["headers"])
    kind = headers.get("content-type", "").partition(";")[0]
    return start["status"] == 200 and kind in COMPRESSED_TYPES and "content-encoding" not in headers
