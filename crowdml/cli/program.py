"""Define `crowdml program`: compare what a server hands to phones with this release."""

import hashlib
import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Annotated
from urllib.parse import quote

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import FINGERPRINT, INSECURE_HTTP
from crowdml.cli.output import print_lines
from crowdml.device import connect, fetch_certificate, untrusted_error, why_unreachable
from crowdml.errors import CrowdmlError, InvalidInput

TIMEOUT_SECONDS = 30.0
LARGEST_FILE = 2**24
"""The most bytes that are read of a file; every file of the program is shorter."""


def program(
    url: Annotated[
        str | None, typer.Option(help="The server whose files are compared, such as https://HOST.")
    ] = None,
    fingerprint: FINGERPRINT = None,
    insecure_http: INSECURE_HTTP = False,
) -> None:
    """Print the SHA-256 of each file of the phone's program, or compare a server's files."""
    with require_extras("server"):
        from crowdml.portal.pages import program_files, served_files

    if url is None:
        for path, sha256 in program_files().items():
            print_lines(f"{sha256}  {path}")
        return
    if not url.startswith(("https://", "http://")):
        raise InvalidInput(f"--url must begin with https:// or http://, found {url!r}.")
    certificate = fetch_certificate(url, fingerprint) if fingerprint is not None else None
    connection, root = connect(url, certificate, insecure_http, TIMEOUT_SECONDS)
    with closing(connection):
        others = [
            path
            for path, sha256 in served_files().items()
            if _handed_out(connection, f"{root}/{path}", url) != sha256
        ]
    if others:
        raise CrowdmlError(
            f"the server's files must be the files of this release, found {len(others)} of "
            f"{len(served_files())} that differ: {', '.join(others)}. Do not take part by phone, "
            "unless the server runs another release and you have compared its files."
        )
    print_lines(f"all {len(served_files())} files are those of this release")


def _handed_out(connection: HTTPConnection, path: str, url: str) -> str:
    """Return the SHA-256 of a server's file; send no request to a server that is not trusted."""
    try:
        connection.request("GET", quote(path))
        answer = connection.getresponse()
        body = answer.read(LARGEST_FILE)
        if not answer.isclosed():
            connection.close()
        return hashlib.sha256(body).hexdigest() if answer.status == 200 else ""
    except ssl.SSLCertVerificationError as error:
        raise untrusted_error(error) from error
    except (OSError, ValueError, HTTPException) as error:
        raise CrowdmlError(f"cannot ask {url} for {path}: {why_unreachable(error)}.") from error
