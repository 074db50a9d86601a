"""Send server-sent events, and count the listeners."""

from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from crowdml.server.service import Counts


class EventStream(StreamingResponse):
    """Send server-sent events to a listener that has been counted."""

    media_type = "text/event-stream"

    def __init__(self, stream: AsyncIterator[bytes], counts: Counts) -> None:
        super().__init__(stream, headers={"Cache-Control": "no-store"})
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._counts.listeners -= 1
