"""Open a session by name and password, with few attempts at once."""

import math
from typing import NamedTuple

from starlette.requests import Request

from crowdml.errors import Rejected
from crowdml.portal.pages.context import portal_of, service_of
from crowdml.portal.words import say
from crowdml.server.database import LONGEST_PASSWORD
from crowdml.server.http import visitor_of

LONGEST_NAME = 63


class SignInResult(NamedTuple):
    """Hold the token of a session; or the reason why there is none, and the seconds to wait."""

    token: str | None = None
    wrong: str = ""
    status: int = 403
    wait: int | None = None


async def open_session(
    request: Request, name: str, password: str, old: str | None = None
) -> SignInResult:
    """Open a session in place of an old one."""
    if len(name) > LONGEST_NAME or len(password) > LONGEST_PASSWORD:
        return SignInResult(wrong=say("The name or the password is too long."), status=400)
    try:
        address = visitor_of(request.scope)
        await service_of(request).run_in_writer(
            lambda store: store.owners.count_attempt(name, address)
        )
        token = await _session_if_right(request, name, password, old)
    except Rejected as rejection:
        if "retry_after" not in rejection.extra:
            raise
        wait = math.ceil(rejection.extra["retry_after"])
        words = say("Too many attempts to sign in. Try again in {wait} s.", wait=wait)
        return SignInResult(wrong=words, status=rejection.status, wait=wait)
    if token is None:
        return SignInResult(wrong=say("This name and password do not belong together."))
    return SignInResult(token)


async def _session_if_right(
    request: Request, name: str, password: str, old: str | None
) -> str | None:
    """Open a session if the password is right; an unknown name takes the same work."""
    service = service_of(request)
    hashed = await service.run_in_reader(lambda store: store.owners.password(name))
    if not await portal_of(request).password_checks.matches(
        hashed, password, visitor_of(request.scope)
    ):
        return None
    if old:
        await service.run_in_writer(lambda store: store.owners.close_session(old))
    return await service.run_in_writer(
        # Meanwhile the password may have been changed, or the owner removed.
        lambda store: (
            store.owners.open_session(name) if store.owners.password(name) == hashed else None
        )
    )
