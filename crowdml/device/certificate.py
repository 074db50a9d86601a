"""Trusting one certificate by its fingerprint."""

import hashlib
import re
import socket
import ssl

from crowdml.errors import InvalidInput, Unreachable, Untrusted


def fetch_pinned(host: str, port: int, fingerprint: str, timeout: float) -> str:
    """The server's certificate in PEM, if it has this SHA-256 fingerprint.

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
        raise Unreachable(f"cannot reach {host}:{port}: {error}.") from error
    certificate = ssl.DER_cert_to_PEM_cert(der)
    found = fingerprint_of(certificate)
    if found != wanted:
        raise Untrusted(
            f"the server's certificate must have the fingerprint {wanted}, found {found}. "
            "Ask the task's owner; do not go on."
        )
    return certificate


def fingerprint_of(certificate: str) -> str:
    """SHA-256 of a certificate in PEM."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()


def trust_only(certificate: str) -> ssl.SSLContext:
    """A context that accepts this certificate and no other, whatever its names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificate)
    return context
