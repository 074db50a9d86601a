"""List the routes of all pages, and build the app."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.portal.pages import (
    STATIC,
    Portal,
    error_page,
    newest_wheel,
    owner,
    participant,
    pictures,
    program,
    program_hashes,
    program_page,
    redirect,
    static_file,
    tasks,
    wheel,
)
from crowdml.portal.words import preferred, speaking
from crowdml.server import Settings
from crowdml.server.http import PublicAddress, create_app

Page = Callable[[Request], Awaitable[Response]]


def in_their_language(page: Page) -> Page:
    """Answer with a page in the reader's language."""

    async def answer(request: Request) -> Response:
        with speaking(preferred(request)):
            return await page(request)

    return answer


async def favicon(request: Request) -> Response:
    return redirect(request, STATIC.address("/static/icon.svg"))


PAGES = [
    Route("/", tasks.tasks),
    Route("/tasks/{task}", tasks.task),
    Route("/tasks/{task}/card", tasks.card),
    Route("/tasks/{task}/card.md", tasks.card_file),
    Route("/tasks/{task}/join", tasks.join),
    Route("/tasks/{task}/join.svg", tasks.join_code),
    Route("/tasks/{task}/spark.svg", pictures.spark),
    Route("/tasks/{task}/hiding.svg", pictures.hidden),
    Route("/tasks/{task}/charts/{chart}.{format}", pictures.chart),
    Route("/privacy", tasks.privacy),
    Route("/join/files.json", participant.files),
    Route("/join/worker.js", participant.worker),
    Route("/join/{task}", participant.participant),
    Route("/join/{task}/manifest.webmanifest", participant.manifest),
    Route("/device.py", program),
    Route("/crowdml.whl", newest_wheel),
    Route("/crowdml-{version}-py3-none-any.whl", wheel),
    Route("/program", program_page),
    Route("/program.sha256", program_hashes),
    Route("/favicon.ico", favicon),
    Route("/static/{path:path}", static_file),
    Route("/web/{path:path}", static_file),
    *owner.ROUTES,
]


def create_portal_app(settings: Settings, front: PublicAddress | None = None) -> Starlette:
    """Create one app with the API and the portal."""
    return create_app(
        settings,
        front or PublicAddress(),
        extra_routes=[
            Route(page.path, in_their_language(page.endpoint), methods=page.methods)
            for page in PAGES
        ],
        error_page=error_page,
        state={"portal": Portal()},
    )
