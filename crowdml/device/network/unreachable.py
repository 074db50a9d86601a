"""Explain in words why a server cannot be reached."""

import ssl

from crowdml.visible import visible

PLAIN_HTTP = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE"}
"""OpenSSL's words for an answer without TLS."""


def why_unreachable(error: BaseException) -> str:
    """Explain why a connection failed, without the numbers and file names of libraries.

    >>> why_unreachable(ConnectionRefusedError(111, "Connection refused"))
    'Connection refused'
    """
    if str(error).startswith("\x15\x03"):
        return "the server speaks TLS, so its address begins with https://"
    if isinstance(error, ssl.SSLError) and error.reason in PLAIN_HTTP:
        return "the server does not speak TLS there, so its address begins with http://"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return visible(error.strerror)
    return visible(error)
