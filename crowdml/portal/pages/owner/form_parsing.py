"""Parse forms as browsers send them: urlencoded, or with a file; one value for each name."""

import re
from typing import TypeAlias
from urllib.parse import parse_qs

from starlette.requests import Request

from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.http import read_body

FormFields: TypeAlias = dict[str, str]

MEDIA_TYPE, WITH_FILE = "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 100
LARGEST_FORM = 1024 * 1024
LARGEST_FILE = 10_000_000
BOUNDARY = re.compile(r'boundary="?([\w\'()+,./:=? -]{1,70})"?', re.ASCII)
NAME_PARAMETER = re.compile(rb'name="([^"]*)"')


async def read_form(request: Request, limit: int = LARGEST_FORM) -> FormFields:
    _require(request, MEDIA_TYPE)
    return parse_form(await read_body(request.scope, request.receive, limit))


async def read_upload(request: Request) -> FormFields:
    """Read a form with a file, whose bytes are then in `request.state.file`.

    A form that continues after its owner had to sign in has lost its file.
    """
    request.state.file = b""
    if _kind(request) == MEDIA_TYPE:
        return await read_form(request)
    _require(request, WITH_FILE)
    body = await read_body(request.scope, request.receive, LARGEST_FILE + LARGEST_FORM)
    found = BOUNDARY.search(request.headers["content-type"])
    form, request.state.file = parse_upload(body, found[1] if found else "")
    return form


def _require(request: Request, kind: str) -> None:
    sent = _kind(request)
    if sent != kind:
        raise rejected(
            "invalid-request",
            Phrase("a form must be {kind}, found {found}.", kind=kind, found=f"{sent[:80]!r}"),
        )


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parse_upload(body: bytes, boundary: str) -> tuple[FormFields, bytes]:
    r"""Return the fields of a form and the bytes of its file; no bytes if no file was chosen.

    >>> part = b'\r\n--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s'
    >>> title, file = part % (b"title", b"a\r\nb"), part % (b'f"; filename="p.csv', b"1,2\r\n")
    >>> parse_upload((title + file + b"\r\n--x--").removeprefix(b"\r\n"), "x")
    ({'title': 'a\nb'}, b'1,2\r\n')
    """
    form: FormFields = {}
    file = b""
    parts = (b"\r\n" + body).split(f"\r\n--{boundary}".encode())[1:-1] if boundary else []
    if len(parts) > MOST_FIELDS:
        raise rejected(
            "invalid-request", Phrase("a form may have at most {n} fields.", n=MOST_FIELDS)
        )
    for part in parts:
        head, _, value = part.partition(b"\r\n\r\n")
        name = NAME_PARAMETER.search(head)
        if b"filename=" in head:
            file = value
        elif name:
            text = value.decode("utf-8", "replace").replace("\r\n", "\n")
            form[name[1].decode("utf-8", "replace")] = text
    return form, file


def parse_form(body: bytes) -> FormFields:
    r"""Return the last value of each name; lines end with \n alone, as in files.

    >>> parse_form(b"labels=on%0D%0Aoff&name=a&name=%c3%a4")
    {'labels': 'on\noff', 'name': 'ä'}
    """
    try:
        fields = parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise rejected(
            "invalid-request", Phrase("a form may have at most {n} fields.", n=MOST_FIELDS)
        ) from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}
