"""Serve the programs of devices, and their hashes to compare."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from crowdml import one_file_device as device_module
from crowdml.portal.pages.context import public_address_of
from crowdml.portal.pages.page import HEADERS, render
from crowdml.portal.pages.static import JOINED, STATIC

ONE_FILE_DEVICE = Path(device_module.__file__).read_bytes()
ONE_FILE_DEVICE_SHA256 = hashlib.sha256(ONE_FILE_DEVICE).hexdigest()


def program_files() -> dict[str, str]:
    """Return the SHA-256 of each file of the phone's program, by its path in the package."""
    return {
        path[1:]: file.sha256.hex()
        for path, file in STATIC.files.items()
        if path.startswith("/web/") and path.endswith(".js") and path != JOINED
    }


def served_files() -> dict[str, str]:
    """Return the same hashes, and the hash of the joined file that a phone loads."""
    return program_files() | {JOINED[1:]: STATIC.files[JOINED].sha256.hex()}


async def one_file_device(request: Request) -> Response:
    return Response(ONE_FILE_DEVICE, media_type="text/x-python", headers=HEADERS)


async def program_page(request: Request) -> Response:
    return render(
        request,
        "program.html",
        files=program_files(),
        joined={"path": JOINED[1:], "sha256": STATIC.files[JOINED].sha256.hex()},
        version=version("crowdml"),
        alone=ONE_FILE_DEVICE_SHA256,
        here=public_address_of(request).root(request),
    )


async def program_hashes(request: Request) -> Response:
    """Serve the hashes as a list for `sha256sum -c`."""
    lines = "".join(f"{sha256}  {path}\n" for path, sha256 in program_files().items())
    return PlainTextResponse(lines, headers=HEADERS)


ROUTES = [
    Route("/device.py", one_file_device),
    Route("/program", program_page),
    Route("/program.sha256", program_hashes),
]
