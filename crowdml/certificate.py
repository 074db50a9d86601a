"""Make a self-signed certificate once, to be pinned by its fingerprint."""

import datetime
import hashlib
import ipaddress
import ssl
from pathlib import Path

from crowdml.errors import CrowdmlError, InvalidInput

__all__ = [
    "CERTIFICATE",
    "KEY",
    "certificate_fingerprint",
    "is_self_signed",
    "require_pair",
    "self_signed",
]

CERTIFICATE, KEY = "crowdml-cert.pem", "crowdml-key.pem"
YEARS = 10


def self_signed(folder: Path, host: str) -> tuple[Path, Path]:
    """Return the certificate and key in the folder; make them at the first start."""
    certificate, key = folder / CERTIFICATE, folder / KEY
    if not (certificate.exists() and key.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        _make(certificate, key, host)
    return certificate, key


def certificate_fingerprint(certificate: Path) -> str:
    """Compute the SHA-256 of the first certificate in DER, in hexadecimal, which devices pin."""
    try:
        first, end, _ = certificate.read_text().partition(ssl.PEM_FOOTER)
        before, header, body = first.partition(ssl.PEM_HEADER)
        if not header:
            found = "a key. Use --tls CERT,KEY" if "PRIVATE KEY" in before else "none"
            raise InvalidInput(f"{certificate} must have a certificate in PEM, found {found}.")
        der = ssl.PEM_cert_to_DER_cert(header + body + end)
    except OSError as error:
        why = error.strerror
        raise InvalidInput(f"cannot read the certificate {certificate}: {why}.") from error
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"cannot read the certificate {certificate}: {error}.") from error
    return hashlib.sha256(der).hexdigest()


def require_pair(certificate: Path, key: Path) -> None:
    """Raise unless a server can show this certificate with this key."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{key} must be the key of the certificate {certificate}, in PEM and without a "
            f"password, found another or none ({getattr(error, 'reason', None) or error})."
        ) from error


def is_self_signed(certificate: Path) -> bool:
    """Return whether no authority has signed a certificate, so that people compare fingerprints."""
    from cryptography import x509

    first = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    return first.issuer == first.subject


def _make(certificate: Path, key: Path, host: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "crowdml")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    pem = secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        key.touch(mode=0o600)
        key.write_bytes(pem)
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    except OSError as error:
        for file in (key, certificate):
            file.unlink(missing_ok=True)
        raise CrowdmlError(
            f"cannot write the certificate {certificate}: {error.strerror}."
        ) from error


def _names(host: str):  # type: ignore[no-untyped-def]
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    for candidate in dict.fromkeys(("127.0.0.1", "::1", host)):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(candidate)))
        except ValueError:
            names.append(x509.DNSName(candidate))
    return names
