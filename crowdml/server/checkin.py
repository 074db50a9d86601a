"""Server Routine 2, the one path that must be fast: an ASGI endpoint without a request object."""

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdml.errors import Rejected
from crowdml.server.body import decode, header, read_body

__all__ = ["Shortcut", "bearer_token", "check_in"]

HEADERS = [(b"content-type", b"application/json")]
BEFORE, AFTER = "/v1/tasks/", "/checkins"


class Shortcut:
    """Around an app: check-ins pass by the routes and by what is done for people's pages, which
    would take as long as all that check-ins need.

    Args:
        app: All else.
        refuse: Makes the answer to a refusal.
    """

    def __init__(
        self, app: ASGIApp, refuse: Callable[[Request, Exception], Awaitable[Response]]
    ) -> None:
        self._app, self._refuse = app, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        task = path[len(BEFORE) : -len(AFTER)]
        if scope.get("method") != "POST" or path != BEFORE + task + AFTER or "/" in task:
            await self._app(scope, receive, send)
            return
        try:
            await check_in(task, scope, receive, send)
        except Rejected as error:
            answer = await self._refuse(Request(scope, receive), error)
            await answer(scope, receive, send)


async def check_in(task: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Authenticate, limit, validate; then wait for the commit that holds the check-in."""
    service = scope["app"].state.service
    live = service.live(task)
    device = await service.device(live.learner, bearer_token(scope))
    live.throttle.take(device.number)
    async with live.room:
        body = await read_body(scope, receive, live.gate.largest_body)
        checkin = decode(live.gate.decoder, body)
        answer = msgspec.json.encode(await service.checkin(live, device, checkin))
    length = (b"content-length", str(len(answer)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, length]})
    await send({"type": "http.response.body", "body": answer})


def bearer_token(scope: Scope) -> str | None:
    scheme, _, token = header(scope, b"authorization").partition(" ")
    return token if scheme.lower() == "bearer" else None
