"""Build the app from the API and the routes of all pages."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.portal.pages import ROUTES, STATIC, Portal, error_page, owner, redirect
from crowdml.portal.words import preferred_language, use_language
from crowdml.server import Settings
from crowdml.server.http import PublicAddress, create_app

Page = Callable[[Request], Awaitable[Response]]


def in_their_language(page: Page) -> Page:
    """Answer with a page in the reader's language."""

    async def answer(request: Request) -> Response:
        with use_language(preferred_language(request)):
            return await page(request)

    return answer


async def favicon(request: Request) -> Response:
    return redirect(request, STATIC.address("/static/icon.svg"))


PAGES = [Route("/favicon.ico", favicon), *ROUTES, *owner.ROUTES]


def create_portal_app(settings: Settings, public_address: PublicAddress | None = None) -> Starlette:
    """Create one app with the API and the portal."""
    return create_app(
        settings,
        public_address or PublicAddress(),
        extra_routes=[
            Route(page.path, in_their_language(page.endpoint), methods=page.methods)
            for page in PAGES
        ],
        error_page=error_page,
        state={"portal": Portal()},
    )
