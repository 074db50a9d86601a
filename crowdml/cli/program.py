"""crowdml program: is what a server hands to phones the published program?"""

import hashlib
import ssl
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Annotated

import typer

from crowdml.cli.extras import needs
from crowdml.cli.output import say
from crowdml.errors import CrowdmlError, InvalidInput

PATIENCE = 30.0
LARGEST_FILE = 2**24
"""Bytes: no file of the program is as long, so what is cut off there differs."""


def program(
    url: Annotated[
        str | None, typer.Option(help="A server whose files to compare, such as https://HOST.")
    ] = None,
) -> None:
    """Print the SHA-256 of each file of the phone's program, or compare those of a server."""
    with needs("server"):
        from crowdml.portal.pages import handed_out, program_files

    if url is None:
        for path, sha256 in program_files().items():
            say(f"{sha256}  {path}")
        return
    if not url.startswith(("https://", "http://")):
        raise InvalidInput(f"the URL must begin with https:// or http://, found {url!r}.")
    others = [path for path, sha256 in handed_out().items() if _handed_out(url, path) != sha256]
    if others:
        raise CrowdmlError(
            f"{len(others)} of {len(handed_out())} files differ from those of this release: "
            f"{', '.join(others)}. Do not take part by phone, unless that server runs another "
            "release, which you have compared."
        )
    say(f"all {len(handed_out())} files are those of this release")


def _handed_out(url: str, path: str) -> str:
    """Its hash. Whoever answers: the bytes are compared, so that no certificate need be."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        address = f"{url.rstrip('/')}/{path}"
        with urllib.request.urlopen(address, timeout=PATIENCE, context=context) as answer:  # noqa: S310
            return hashlib.sha256(answer.read(LARGEST_FILE)).hexdigest()
    except urllib.error.HTTPError:
        return ""
    # A host that cannot be written as one is refused in several ways.
    except (OSError, ValueError, HTTPException) as error:
        raise CrowdmlError(f"cannot ask {url} for {path}: {error}.") from error
