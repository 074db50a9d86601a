"""Compress response bodies with brotli or gzip, whichever the client accepts."""

import gzip

import brotli

CODINGS = ("br", "gzip")
LARGE = 2**16
"""Bytes above which a fast compression matters more than the last percent of size."""


def best_coding(accepted: str) -> str:
    """Return the best coding in an Accept-Encoding header, or the empty string.

    >>> best_coding("gzip, deflate, br"), best_coding("gzip;q=1.0, br;q=0"), best_coding("")
    ('br', 'gzip', '')
    """
    wanted = {}
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        wanted[name.strip()] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return next((coding for coding in CODINGS if wanted.get(coding)), "")


def compress(body: bytes, coding: str) -> bytes:
    large = len(body) > LARGE
    if coding == "br":
        smaller: bytes = brotli.compress(body, quality=1 if large else 4)
        return smaller
    return gzip.compress(body, 1 if large else 6, mtime=0) if coding else body
