"""Forms as browsers send them: small, urlencoded, one value for each name."""

from typing import TypeAlias
from urllib.parse import parse_qs

from starlette.requests import Request

from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.http import read_body

__all__ = ["Posted", "parse_form", "read_form"]

Posted: TypeAlias = dict[str, str]

MEDIA_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 100
LARGEST = 256 * 1024


async def read_form(request: Request, limit: int = LARGEST) -> Posted:
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != MEDIA_TYPE:
        raise rejected(
            "invalid-request",
            Phrase(
                "a form must be {kind}, found {found}.", kind=MEDIA_TYPE, found=f"{sent[:80]!r}"
            ),
        )
    return parse_form(await read_body(request.scope, request.receive, limit))


def parse_form(body: bytes) -> Posted:
    r"""The last value of each name; lines end with \n alone, as in files.

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
