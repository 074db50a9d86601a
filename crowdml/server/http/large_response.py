"""Send an answer of many megabytes in pieces."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PIECE = 2**18
"""The bytes of a piece: copying one blocks the event loop, and each waits for the reader."""


class LargeResponse(Response):
    """Send a response in pieces, so that a slow reader takes memory for a few pieces only."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await send(start)
        body, size = self.body, len(self.body)
        for first in range(0, max(size, 1), PIECE):
            piece, more = bytes(body[first : first + PIECE]), first + PIECE < size
            await send({"type": "http.response.body", "body": piece, "more_body": more})
