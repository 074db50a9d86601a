"""The device in one file, for machines with nothing but Python: served to be read and run."""

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from crowdml.device import standalone
from crowdml.portal.page import HEADERS

__all__ = ["PROGRAM_SHA256", "program"]

PROGRAM = Path(standalone.__file__).read_bytes()
PROGRAM_SHA256 = hashlib.sha256(PROGRAM).hexdigest()


async def program(request: Request) -> Response:
    headers = HEADERS | {"Cache-Control": "no-cache"}
    return Response(PROGRAM, media_type="text/x-python", headers=headers)
