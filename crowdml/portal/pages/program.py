"""Serve the programs of devices, and their hashes to compare."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from crowdml import one_file_device as standalone
from crowdml.portal.pages.context import public_address_of
from crowdml.portal.pages.page import HEADERS, render
from crowdml.portal.pages.static import JOINED, STATIC

PROGRAM = Path(standalone.__file__).read_bytes()
PROGRAM_SHA256 = hashlib.sha256(PROGRAM).hexdigest()


def program_files() -> dict[str, str]:
    """Return the SHA-256 of each file of the phone's program, by its path in the package."""
    return {
        path[1:]: file.sha256.hex()
        for path, file in STATIC.files.items()
        if path.startswith("/web/") and path.endswith(".js") and path != JOINED
    }


def handed_out() -> dict[str, str]:
    """Return the same hashes, and the hash of the joined file that a phone loads."""
    return program_files() | {JOINED[1:]: STATIC.files[JOINED].sha256.hex()}


async def program(request: Request) -> Response:
    return Response(PROGRAM, media_type="text/x-python", headers=HEADERS)


async def program_page(request: Request) -> Response:
    return render(
        request,
        "program.html",
        files=program_files(),
        joined={"path": JOINED[1:], "sha256": STATIC.files[JOINED].sha256.hex()},
        version=version("crowdml"),
        alone=PROGRAM_SHA256,
        here=public_address_of(request).root(request),
    )


async def program_hashes(request: Request) -> Response:
    """Serve the hashes as a list for `sha256sum -c`."""
    lines = "".join(f"{sha256}  {path}\n" for path, sha256 in program_files().items())
    return PlainTextResponse(lines, headers=HEADERS)


ROUTES = [
    Route("/device.py", program),
    Route("/program", program_page),
    Route("/program.sha256", program_hashes),
]
