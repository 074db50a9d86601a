"""Serve the participant's page, which makes a phone's browser a device and works offline."""

from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.portal.pages.context import learner_of, on_loopback, public_address_of
from crowdml.portal.pages.description import Description
from crowdml.portal.pages.page import HEADERS, render
from crowdml.portal.pages.static import JOINED, STATIC, TYPES, serve_file

SHELL = (
    JOINED,
    "/static/style.css",
    "/static/participant.css",
    "/static/icon.svg",
    "/static/icon-192.png",
    "/static/icon-512.png",
)


async def participant(request: Request) -> Response:
    learner = learner_of(request)
    return render(
        request,
        "participant.html",
        cache="no-cache",
        learner=learner,
        about=Description.of(learner),
        sensor_json=msgspec.json.encode(learner.task.terms.features.sensor).decode(),
        program=JOINED,
        integrity=STATIC.files[JOINED].integrity,
        loopback=on_loopback(request),
    )


async def manifest(request: Request) -> Response:
    """Serve the web app manifest, which makes the page installable."""
    learner, prefix = learner_of(request), public_address_of(request).prefix
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
    """List the files that the page needs offline, each with the hash of its content."""
    prefix = public_address_of(request).prefix
    body = msgspec.json.encode({prefix + path: STATIC.files[path].etag for path in SHELL})
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-cache"})


async def worker(request: Request) -> Response:
    """Serve the service worker from the folder that its scope requires."""
    return serve_file(request, "/web/page/worker.js")


ROUTES = [
    Route("/join/files.json", files),
    Route("/join/worker.js", worker),
    Route("/join/{task}", participant),
    Route("/join/{task}/manifest.webmanifest", manifest),
]
