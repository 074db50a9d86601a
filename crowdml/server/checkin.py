"""Server Routine 2, the one path that must be fast: an ASGI endpoint without a request object."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdml.errors import Rejected
from crowdml.server.body import decode, header, read_body

__all__ = ["Shortcut", "bearer_token", "check_in"]

HEADERS = [(b"content-type", b"application/json")]
BEFORE, AFTER = "/v1/tasks/", "/checkins"


Answering: TypeAlias = Callable[[Request, Exception], Awaitable[Response]]


class Shortcut:
    """Around an app: check-ins pass by the routes and by what is done for people's pages, which
    would take as long as all that check-ins need.

    Args:
        app: All else.
        refuse: Makes the answer to a refusal.
        fail: Makes the answer to a fault.
    """

    def __init__(self, app: ASGIApp, refuse: Answering, fail: Answering) -> None:
        self._app, self._refuse, self._fail = app, refuse, fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        task = path[len(BEFORE) : -len(AFTER)]
        if scope.get("method") != "POST" or path != BEFORE + task + AFTER or "/" in task:
            await self._app(scope, receive, send)
            return
        try:
            await check_in(task, scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:
            explain = self._refuse if isinstance(error, Rejected) else self._fail
            answer = await explain(Request(scope, receive), error)
            await answer(scope, receive, send)


async def check_in(task: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Authenticate, limit, validate; then wait for the commit that holds the check-in."""
    service = scope["app"].state.service
    live = service.live(task)
    token = bearer_token(scope)
    device = service.known(live.learner, token) or await service.device(live.learner, token)
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
