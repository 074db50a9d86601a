"""Serve style sheets, scripts and the browser device: read and compressed once, never stale."""

import base64
import gzip
import hashlib
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import brotli
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.phrase import Phrase
from crowdml.portal.pages.joined_modules import join_modules
from crowdml.protocol import rejected
from crowdml.server import best_coding

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}

ENTRY, JOINED = "page/main.js", "/web/joined.js"
"""The module that a phone runs, and the address of the file that joins it with its imports."""


class File(NamedTuple):
    """Hold a file, plain (under "") and compressed, by content coding; the smallest comes first."""

    bodies: dict[str, bytes]
    sha256: bytes
    media_type: str

    @property
    def etag(self) -> str:
        return f'"{self.sha256.hex()[:16]}"'

    @property
    def integrity(self) -> str:
        """Return the hash that browsers compare before they run the file."""
        return f"sha256-{base64.b64encode(self.sha256).decode()}"


class Folders:
    """Hold the files that pages may load, by the path in their address."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders

    @cached_property
    def files(self) -> dict[str, File]:
        found = {
            f"/{name}/{path.relative_to(folder).as_posix()}": _file(path.read_bytes(), path.suffix)
            for name, folder in self._folders.items()
            for path in sorted(folder.rglob("*"))
            if path.suffix in TYPES and "node_modules" not in path.parts
        }
        modules = {
            path.removeprefix("/web/"): file.bodies[""].decode()
            for path, file in found.items()
            if path.startswith("/web/") and path.endswith(".js")
        }
        if ENTRY in modules:
            found[JOINED] = _file(join_modules(modules, ENTRY).encode(), ".js")
        return found

    def address(self, path: str) -> str:
        """Return an address that changes with the file, so that browsers need not ask again."""
        return f"{path}?{self.files[path].etag[1:9]}"


def _file(body: bytes, suffix: str) -> File:
    bodies = {"br": brotli.compress(body), "gzip": gzip.compress(body, 9, mtime=0), "": body}
    return File(bodies, hashlib.sha256(body).digest(), TYPES[suffix])


PACKAGE = Path(__file__).parents[2]
STATIC = Folders({"static": PACKAGE / "portal" / "static", "web": PACKAGE / "web"})


async def static_file(request: Request) -> Response:
    return serve_file(request, request.url.path)


def serve_file(request: Request, path: str) -> Response:
    file = STATIC.files.get(path)
    if file is None:
        raise rejected("not-found", Phrase("there is no file {path}.", path=path[:200]))
    # Modules import each other by plain names without a version, so browsers must revalidate.
    lasting = bool(request.url.query)
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if lasting else "no-cache",
        "ETag": file.etag,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    coding = best_coding(request.headers.get("accept-encoding", ""))
    if coding:
        headers["Content-Encoding"] = coding
    return Response(file.bodies[coding], headers=headers, media_type=file.media_type)


ROUTES = [
    Route("/static/{path:path}", static_file),
    Route("/web/{path:path}", static_file),
]
