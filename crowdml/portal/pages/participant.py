"""The participant's page: a phone's browser becomes a device. It works offline once visited."""

from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.pages.context import front_of, learner_of
from crowdml.portal.pages.description import Description
from crowdml.portal.pages.page import HEADERS, render
from crowdml.portal.pages.static import STATIC, TYPES, serve_file

SHELL = (
    "/static/style.css",
    "/static/participant.css",
    "/static/icon.svg",
    "/static/icon-192.png",
    "/static/icon-512.png",
)


async def participant(request: Request) -> Response:
    learner, prefix = learner_of(request), front_of(request).prefix
    modules = {
        prefix + path: file.integrity for path, file in STATIC.files.items() if _is_module(path)
    }
    return render(
        request,
        "participant.html",
        cache="no-cache",
        # So that browsers check what modules import from each other, too.
        inline=msgspec.json.encode({"integrity": modules}).decode(),
        learner=learner,
        about=Description.of(learner),
        modules=modules,
    )


async def manifest(request: Request) -> Response:
    """What makes the page installable."""
    learner, prefix = learner_of(request), front_of(request).prefix
    address = f"{prefix}/join/{learner.task.name}"
    icons = {"icon-192.png": "192x192", "icon-512.png": "512x512", "icon.svg": "any"}
    document = {
        "name": f"{learner.task.title} · crowdml",
        "short_name": "crowdml",
        "id": address,
        "start_url": address,
        "scope": f"{prefix}/join/",
        "display": "standalone",
        "background_color": "#10151a",
        "theme_color": "#1763b0",
        "icons": [
            {"src": f"{prefix}/static/{icon}", "sizes": sizes, "type": TYPES[Path(icon).suffix]}
            for icon, sizes in icons.items()
        ],
    }
    body = msgspec.json.encode(document)
    return Response(body, media_type="application/manifest+json", headers=HEADERS)


async def files(request: Request) -> Response:
    """The files that the page needs offline, each with the tag of its content."""
    wanted = [path for path in STATIC.files if _is_module(path)] + list(SHELL)
    prefix = front_of(request).prefix
    body = msgspec.json.encode({prefix + path: STATIC.files[path].etag for path in wanted})
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-cache"})


async def worker(request: Request) -> Response:
    """The service worker, under the address that its scope asks for."""
    return serve_file(request, "/web/page/worker.js")


def _is_module(path: str) -> bool:
    return path.startswith("/web/") and path.endswith(".js") and not path.endswith("/worker.js")
