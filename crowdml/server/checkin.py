"""Server Routine 2, the one path that must be fast: an ASGI endpoint without a request object."""

import msgspec
from starlette.types import Receive, Scope, Send

from crowdml.server.body import decode, header, read_body

__all__ = ["CheckinEndpoint", "bearer_token"]

HEADERS = [(b"content-type", b"application/json")]


class CheckinEndpoint:
    """Authenticate, limit, validate; then wait for the commit that holds the check-in.

    Refusals are raised; the application turns them into problem documents.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = scope["app"].state.service
        live = service.live(scope["path_params"]["task"])
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
