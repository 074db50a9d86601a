"""Render pages: one template folder, one set of headers, nothing from other servers."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.portal.pages.context import public_address_of
from crowdml.portal.pages.static import STATIC
from crowdml.portal.words import (
    catalogue,
    current_language,
    in_language,
    lang_of,
    preferred_language,
    say,
    say_html,
    use_language,
)
from crowdml.portal.words import plain as words
from crowdml.protocol import PROBLEMS, is_precise_enough

TEMPLATES = Path(__file__).parents[1] / "templates"

HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": (
        "accelerometer=(self), geolocation=(self), "
        "microphone=(self), screen-wake-lock=(self), camera=(), payment=(), usb=()"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every page: it loads only this server's files, and other sites cannot frame it."""


def render(
    request: Request,
    template: str,
    status: int = 200,
    cache: str = "no-store",
    **context: Any,
) -> Response:
    """Render a page from a template; `request.state.owner` is set if an owner has signed in."""
    prefix = public_address_of(request).prefix
    always = {
        "path": request.url.path,
        "prefix": prefix,
        "owner": getattr(request.state, "owner", None),
        "asset": lambda path: prefix + STATIC.address(path),
    }
    body = _environment().get_template(template).render(always | context)
    headers = HEADERS | {"Cache-Control": cache, "Vary": "Accept-Language"}
    return HTMLResponse(body, status, headers)


def redirect(request: Request, path: str) -> Response:
    """Redirect the browser to another page of this site."""
    return RedirectResponse(public_address_of(request).prefix + path, 303)


def error_page(request: Request, error: Rejected) -> Response:
    """Render a problem for people, with a link to continue."""
    here = request.url.path[:200]
    known = error.kind != "not-found" or "path_params" in request.scope
    with use_language(preferred_language(request)):
        detail = say(error.phrase) if known else say("there is no page at {here}.", here=here)
        title = say(PROBLEMS[error.kind].title)
        return render(request, "error.html", error.status, title=title, detail=detail)


def say_phrases(what: Phrase | Iterable[Phrase]) -> str:
    """Write one phrase, or several one after the other, in the reader's language."""
    return say(what) if isinstance(what, Phrase) else " ".join(map(say, what))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= words.FILTERS | {"said": say_phrases}
    environment.globals |= {
        "_": say_html,
        "catalogue": catalogue,
        "current_language": current_language,
        "in_language": in_language,
        "is_precise_enough": is_precise_enough,
        "lang_of": lang_of,
        "words": words,
    }
    return environment
