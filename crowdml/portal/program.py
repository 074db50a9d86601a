"""The programs that this server hands to devices, and their hashes, to be compared."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from crowdml.device import standalone
from crowdml.portal.context import front_of
from crowdml.portal.page import HEADERS, render
from crowdml.portal.static import STATIC

__all__ = ["PROGRAM_SHA256", "listing", "program", "program_hashes", "program_page"]

PROGRAM = Path(standalone.__file__).read_bytes()
PROGRAM_SHA256 = hashlib.sha256(PROGRAM).hexdigest()


def listing() -> dict[str, str]:
    """The SHA-256 of each file of the phone's program, by its path in the package."""
    return {
        path[1:]: file.sha256.hex()
        for path, file in STATIC.files.items()
        if path.startswith("/web/") and path.endswith(".js")
    }


async def program(request: Request) -> Response:
    headers = HEADERS | {"Cache-Control": "no-cache"}
    return Response(PROGRAM, media_type="text/x-python", headers=headers)


async def program_page(request: Request) -> Response:
    return render(
        request,
        "program.html",
        files=listing(),
        version=version("crowdml"),
        alone=PROGRAM_SHA256,
        here=front_of(request).root(request),
    )


async def program_hashes(request: Request) -> Response:
    """The same as `sha256sum -c` reads it."""
    lines = "".join(f"{sha256}  {path}\n" for path, sha256 in listing().items())
    return PlainTextResponse(lines, headers=HEADERS | {"Cache-Control": "no-cache"})
