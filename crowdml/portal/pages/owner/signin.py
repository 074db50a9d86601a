"""Signing in and out."""

import math
import re

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import Rejected
from crowdml.portal.pages.context import portal_of, service_of
from crowdml.portal.pages.owner.posted import Posted, read_form
from crowdml.portal.pages.owner.session import (
    forget,
    is_same_origin,
    on_post,
    refuse_forged,
    remember,
    session_token,
)
from crowdml.portal.pages.page import redirect, render
from crowdml.portal.words import say
from crowdml.server.database import LONGEST
from crowdml.server.http import visitor

LARGEST_BODY = 16 * 1024
LONGEST_NAME = 63


async def form(request: Request) -> Response:
    return await _page(request, {"next": request.query_params.get("next", "")})


async def sign_in(request: Request) -> Response:
    if not is_same_origin(request):
        return refuse_forged(request)
    posted = await read_form(request, LARGEST_BODY)
    name, password = posted.get("name", "").strip(), posted.get("password", "")
    if len(name) > LONGEST_NAME or len(password) > LONGEST:
        return await _page(request, posted, say("The name or the password is too long."), 400)
    try:
        whence = visitor(request.scope)
        await service_of(request).in_store(lambda store: store.accounts.attempt(name, whence))
        token = await _open_session(request, name, password)
    except Rejected as refusal:
        if "retry_after" not in refusal.extra:
            raise
        wait = math.ceil(refusal.extra["retry_after"])
        words = say("Too many attempts to sign in. Try again in {wait} s.", wait=wait)
        answer = await _page(request, posted, words, refusal.status)
        answer.headers["Retry-After"] = str(wait)
        return answer
    if token is None:
        wrong = say("This name and password do not belong together.")
        return await _page(request, posted, wrong, 403)
    response = redirect(request, safe_next(posted.get("next", "")))
    remember(request, response, token)
    return response


async def _open_session(request: Request, name: str, password: str) -> str | None:
    """The same work whether the name is unknown or the password wrong."""
    service = service_of(request)
    hashed = await service.in_reader(lambda store: store.accounts.password(name))
    if not await portal_of(request).attempts.matches(hashed, password, visitor(request.scope)):
        return None
    old = session_token(request)
    if old:
        await service.in_store(lambda store: store.accounts.close_session(old))
    return await service.in_store(
        # The password may have changed, or the owner gone, while it was compared.
        lambda store: (
            store.accounts.open_session(name) if store.accounts.password(name) == hashed else None
        )
    )


@on_post
async def sign_out(request: Request, posted: Posted) -> Response:
    token = session_token(request)
    assert token is not None
    await service_of(request).in_store(lambda store: store.accounts.close_session(token))
    response = redirect(request, "/owner/sign-in")
    forget(request, response)
    return response


async def _page(request: Request, posted: Posted, wrong: str = "", status: int = 200) -> Response:
    names = await service_of(request).in_reader(lambda store: store.accounts.names())
    return render(
        request,
        "owner/sign-in.html",
        status,
        anyone=bool(names),
        name=posted.get("name", "")[:LONGEST_NAME],
        next=safe_next(posted.get("next", "")),
        wrong=wrong,
    )


def safe_next(path: str) -> str:
    """Where to go after signing in: a page of the owner's area, whatever the link said.

    >>> safe_next("/owner/tasks/activity?from=100"), safe_next("//evil.example/owner")
    ('/owner/tasks/activity?from=100', '/owner')
    """
    local = re.fullmatch(r"/owner(/[a-z0-9-]+)*(\?[A-Za-z0-9=&_.+%-]*)?", path, re.ASCII)
    return path if local and not path.startswith("/owner/sign-") else "/owner"
