"""Act as a certificate authority for tests."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certify(
    folder: Path, host: str = "localhost", days: float = 1.0, since: float = -2.0
) -> tuple[Path, str]:
    """Write the authority's certificate, and `CERT,KEY` of a server on this machine that it signs.

    Args:
        folder: The folder to write both to; it is created.
        host: The server's name.
        days: How long the server's certificate is valid from now on.
        since: In how many days it becomes valid.
    """
    folder.mkdir()
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = f"authority of {folder.name}"
    root = _signed(name, root_key, name, root_key)
    server = _signed("server", key, name, root_key, host, days, since)
    pem = serialization.Encoding.PEM
    (folder / "root.pem").write_bytes(root.public_bytes(pem))
    (folder / "chain.pem").write_bytes(server.public_bytes(pem) + root.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(secret)
    return folder / "root.pem", f"{folder / 'chain.pem'},{folder / 'key.pem'}"


def _signed(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    host: str = "localhost",
    days: float = 1.0,
    since: float = -2.0,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    is_authority = subject == issuer
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=since))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
