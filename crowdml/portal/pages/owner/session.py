"""Identify the signed-in owner by a cookie, reject forged forms, and protect the owner's pages.

A form that arrives after its session has ended is not lost: the answer is a sign-in form that
carries the fields, and signing in continues with them.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.pages.context import public_address_of, service_of
from crowdml.portal.pages.owner.form_parsing import LARGEST_FORM, FormFields, read_form
from crowdml.portal.pages.owner.open_session import LONGEST_NAME, SignInResult, open_session
from crowdml.portal.pages.page import redirect, render
from crowdml.portal.words import say
from crowdml.server.database import SESSION_SECONDS

Page: TypeAlias = Callable[[Request], Awaitable[Response]]
FormHandler: TypeAlias = Callable[[Request, FormFields], Awaitable[Response]]

COOKIE, SECURE_COOKIE = "crowdml", "__Host-crowdml"
CSRF = "csrf"
"""The name of the hidden field with the token, in every form."""

WHO, PASSWORD = "sign-in-name", "sign-in-password"
"""Fields of a form that was sent after its session had ended."""


class Owner(NamedTuple):
    """Hold the signed-in owner, and the token in this owner's forms."""

    name: str
    csrf: str
    session: str

    def secret(self, purpose: str) -> bytes:
        """Make a secret that only this session can make again; it is not stored."""
        return hmac.new(self.session.encode(), purpose.encode(), hashlib.sha256).digest()


def csrf_token(session: str) -> str:
    """Make the token of a session's forms. A foreign page can send the cookie, but not read a page.

    >>> csrf_token("a") == csrf_token("a"), csrf_token("a") == csrf_token("b")
    (True, False)
    """
    return hmac.new(session.encode(), b"crowdml form", hashlib.sha256).hexdigest()


def is_same_origin(request: Request) -> bool:
    """Return whether the form came from this server, as far as the browser says.

    A proxy may add TLS, so that the browser's https is http here, or may have another name.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    here = {f"{scheme}://{request.url.netloc}" for scheme in (request.url.scheme, "https")}
    here.add(public_address_of(request).origin or "")
    return site in (None, "same-origin") and (origin is None or origin in here)


def reject_forged(request: Request) -> Response:
    return render(
        request,
        "error.html",
        403,
        title=say("Nothing was changed"),
        detail=say(
            "the request did not come from a form of this site. "
            "Go back, load the page again, and send it once more."
        ),
    )


# The cookie


def session_token(request: Request) -> str | None:
    token = request.cookies.get(SECURE_COOKIE)
    if token is None and request.url.scheme != "https":
        token = request.cookies.get(COOKIE)
    return token


def remember(request: Request, response: Response, token: str) -> None:
    secure = _is_secure(request)
    response.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        token,
        max_age=SESSION_SECONDS,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def forget(request: Request, response: Response) -> None:
    secure = _is_secure(request)
    name = SECURE_COOKIE if secure else COOKIE
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")


def _is_secure(request: Request) -> bool:
    """Return whether the browser uses https; its `Origin` says so behind a proxy that adds TLS."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")


# Pages for owners only


def for_owner(page: Page) -> Page:
    """Show the page to owners; send others to sign in, and then back."""

    async def guarded(request: Request) -> Response:
        if await _owner(request) is None:
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return redirect(request, f"/owner/sign-in?next={quote(path, safe='')}")
        return await page(request)

    return guarded


def on_post(
    handler: FormHandler, read: Callable[[Request], Awaitable[FormFields]] = read_form
) -> Page:
    """Handle a form for owners only, and only if a page of the same session sent it."""

    async def guarded(request: Request) -> Response:
        if not is_same_origin(request):
            return reject_forged(request)
        owner = await _owner(request)
        if owner is None:
            return await _sign_in_first(request, handler, read)
        form = await read(request)
        if not hmac.compare_digest(form.pop(CSRF, "").encode(), owner.csrf.encode()):
            return reject_forged(request)
        return await handler(request, form)

    return guarded


async def _sign_in_first(
    request: Request, handler: FormHandler, read: Callable[[Request], Awaitable[FormFields]]
) -> Response:
    """Show the sign-in form with the posted fields inside; handle the fields after signing in.

    A foreign page cannot misuse this: browsers say where a form came from, and the page would have
    to know a password.
    """
    size = request.headers.get("content-length", "")
    if not size.isdecimal() or int(size) > LARGEST_FORM:
        return redirect(request, "/owner/sign-in")
    form = await read(request)
    form.pop(CSRF, None)
    name, password = form.pop(WHO, "").strip(), form.pop(PASSWORD, "")
    result = (
        await open_session(request, name, password, session_token(request))
        if name
        else SignInResult()
    )
    if result.token is None:
        return sign_in_page(request, name, result, kept=form)
    _sign_in(request, name, result.token)
    response = await handler(request, form)
    remember(request, response, result.token)
    return response


def sign_in_page(
    request: Request,
    name: str,
    result: SignInResult,
    *,
    then: str = "",
    anyone: bool = True,
    kept: FormFields | None = None,
) -> Response:
    """Render the sign-in form, with the fields of the form that was interrupted, if any."""
    answer = render(
        request,
        "owner/sign-in.html",
        result.status,
        anyone=anyone,
        name=name[:LONGEST_NAME],
        next=then,
        wrong=result.wrong,
        kept=kept,
        query=request.url.query,
        fields=("name", "password") if kept is None else (WHO, PASSWORD),
    )
    if result.wait is not None:
        answer.headers["Retry-After"] = str(result.wait)
    return answer


def _sign_in(request: Request, name: str, token: str) -> Owner:
    owner = Owner(name, csrf_token(token), token)
    request.state.owner = owner
    return owner


async def _owner(request: Request) -> Owner | None:
    token = session_token(request)
    if not token:
        return None
    name = await service_of(request).run_in_reader(lambda store: store.owners.session(token))
    return None if name is None else _sign_in(request, name, token)
