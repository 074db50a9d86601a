"""Trust one certificate by its fingerprint."""

import hashlib
import re
import socket
import ssl
import time

from crowdml.device.network.unreachable import why_unreachable
from crowdml.errors import InvalidInput, Unreachable, Untrusted

WRONG_DATES = (9, 10)
"""OpenSSL's codes of certificates that are not yet valid, or have expired."""


def fetch_pinned(host: str, port: int, fingerprint: str, timeout: float) -> str:
    """Fetch the server's certificate in PEM, if it has this SHA-256 fingerprint.

    Only a handshake is made: nothing is sent to a server that is not yet trusted.
    """
    wanted = fingerprint.lower().replace(":", "").replace(" ", "")
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise InvalidInput(
            f"a fingerprint must be 64 digits from 0 to f, found {fingerprint!r}. Copy all of it."
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            der = secured.getpeercert(binary_form=True) or b""
    except OSError as error:
        raise Unreachable(f"cannot reach {host}:{port}: {why_unreachable(error)}.") from error
    certificate = ssl.DER_cert_to_PEM_cert(der)
    found = fingerprint_of(certificate)
    if found != wanted:
        raise Untrusted(
            f"the server's certificate must have the fingerprint {wanted}, found {found}. "
            "Ask the task's owner; do not go on."
        )
    return certificate


def fingerprint_of(certificate: str) -> str:
    """Return the SHA-256 of a certificate in PEM."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()


def trust_only(certificate: str) -> ssl.SSLContext:
    """Make a context that accepts only this certificate, with any name, while it is valid."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context


def untrusted_error(error: ssl.SSLCertVerificationError) -> Untrusted:
    """Say why a certificate is not trusted, and what to do."""
    if error.verify_code in WRONG_DATES:
        remedy = (
            f"This machine's clock says {time.strftime('%Y-%m-%d')}: set it if it is wrong. "
            "Otherwise ask the task's owner to renew the certificate."
        )
    else:
        remedy = (
            "Pin a self-signed one by its fingerprint: with --fingerprint, in Python with "
            "fingerprint=, or with `crowdml device repin` if its owner has renewed it."
        )
    return Untrusted(f"the server's certificate is not trusted: {error.verify_message}. {remedy}")
