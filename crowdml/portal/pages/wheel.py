"""Pack the installed package as a wheel, so that pip can install crowdml from a running server."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.phrase import Phrase
from crowdml.portal.pages.page import HEADERS, redirect
from crowdml.protocol import rejected

PACKAGE = Path(__file__).parents[2]
OPEN_SUFFIXES = {".css", ".html", ".js", ".png", ".py", ".svg", ".toml", ".ts", ".typed"}
OPEN_FOLDERS = {"data", "web"}
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest date that a zip file can have, so that the same files give the same bytes."""


class Wheel(NamedTuple):
    """Hold a wheel: its file's name, its bytes, and their SHA-256."""

    name: str
    body: bytes
    sha256: str


@cache
def own_wheel() -> Wheel:
    """Pack the installed package, deterministically.

    The wheel has the files of the release and its metadata, and nothing that the installation
    added: no compiled files, and no path of this machine.
    """
    installed = distribution("crowdml")
    name = f"crowdml-{installed.version}"
    files = dict(package_files(PACKAGE, installed)) | dict(
        _metadata(installed, f"{name}.dist-info")
    )
    record = f"{name}.dist-info/RECORD"
    files[record] = _record(files, record).encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    body = written.getvalue()
    return Wheel(f"{name}-py3-none-any.whl", body, hashlib.sha256(body).hexdigest())


def package_files(package: Path, installed: Distribution) -> Iterator[tuple[str, bytes]]:
    """Read the files of the package: those that pip installed, or those of a clone.

    In a clone, the package's folder may hold other files, such as the database of a server that
    was started there. So only kinds of files that belong to the package are read.
    """
    recorded = {file.as_posix() for file in installed.files or []}
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package.parent).as_posix()
        belongs = path.suffix in OPEN_SUFFIXES or path.relative_to(package).parts[0] in OPEN_FOLDERS
        if "crowdml/__init__.py" in recorded:
            belongs = name in recorded
        if belongs and path.is_file() and "__pycache__" not in path.parts:
            yield name, path.read_bytes()


def _metadata(installed: Distribution, folder: str) -> Iterator[tuple[str, bytes]]:
    """Read the metadata that was in the wheel from which the package was installed."""
    for file in sorted(installed.files or [], key=str):
        inside = file.as_posix().partition(".dist-info/")[2]
        if inside in ("METADATA", "WHEEL", "entry_points.txt") or inside.startswith("licenses/"):
            yield f"{folder}/{inside}", file.read_binary()


def _record(files: dict[str, bytes], record: str) -> str:
    """List the hash and the length of each file, as pip compares them."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{record},,\n"])


async def wheel(request: Request) -> Response:
    made = await run_in_threadpool(own_wheel)
    if request.url.path != f"/{made.name}":
        raise rejected("not-found", Phrase("there is no file {path}.", path=request.url.path[:200]))
    return Response(made.body, media_type="application/zip", headers=HEADERS)


async def newest_wheel(request: Request) -> Response:
    """Redirect to the wheel under its full name, which pip requires."""
    return redirect(request, f"/{(await run_in_threadpool(own_wheel)).name}")


ROUTES = [
    Route("/crowdml.whl", newest_wheel),
    Route("/crowdml-{version}-py3-none-any.whl", wheel),
]
