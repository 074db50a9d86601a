"""Run Server Routine 2 on the one path that must be fast: ASGI without a request object."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdml.errors import Rejected
from crowdml.server.http.body import decode, header, limit_body, read

HEADERS = [(b"content-type", b"application/json")]
Answering: TypeAlias = Callable[[Request, Exception], Awaitable[Response]]


class Dispatcher:
    """Route check-ins directly to their endpoint, and everything else to the app's router.

    Matching the other routes, and the middleware for people's pages, would take as long as a
    check-in itself.

    Args:
        app: The router of all other requests.
        route: The route of check-ins, with `{task}` in its path.
        reject: Makes the answer to a rejected request.
        fail: Makes the answer to a fault.
    """

    def __init__(self, app: ASGIApp, route: Route, reject: Answering, fail: Answering) -> None:
        self._app, self._route = app, route
        self._reject, self._fail = reject, fail
        self._before, self._after = route.path.split("{task}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        task = path[len(self._before) : -len(self._after)]
        is_checkin = path == self._before + task + self._after and "/" not in task
        if not is_checkin or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        scope["path_params"], scope["route"] = {"task": task}, self._route
        try:
            await self._route.app(scope, receive, send)
        except Exception as error:
            explain = self._reject if isinstance(error, Rejected) else self._fail
            answer = await explain(Request(scope, receive), error)
            await answer(scope, receive, send)


class CheckinHandler:
    """Authenticate, limit and validate a check-in, then wait for its commit."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = scope["app"].state.service
        registry = service.registry
        served = registry.task(scope["path_params"]["task"])
        token = bearer_token(scope)
        device = registry.cached_device(served.learner, token) or await registry.device(
            served.learner, token
        )
        served.learner.frequency.enter(device.number)
        served.pending.begin(device.number)
        try:
            with limit_body(scope, served.rules.largest_body) as body:
                checkin = decode(served.rules.decoder, await read(receive, body))
                answer = msgspec.json.encode(await service.commits.checkin(served, device, checkin))
        finally:
            served.pending.end(device.number)
        length = (b"content-length", str(len(answer)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, length]})
        await send({"type": "http.response.body", "body": answer})


def bearer_token(scope: Scope) -> str | None:
    scheme, _, token = header(scope, b"authorization").partition(" ")
    return token if scheme.lower() == "bearer" else None
