"""Switch a test server's certificates: a good certificate, and one for each fault."""

import hashlib
import ssl
from pathlib import Path

from tests.support.authority import certify


class Certificates:
    """Hold a server's certificates, and serve with one of them."""

    def __init__(self, folder: Path) -> None:
        options = dict.fromkeys(("good", "renewed", "unknown"), ("localhost", 1.0, -2.0))
        options |= {"expired": ("localhost", -1.0, -2.0), "not yet valid": ("localhost", 2.0, 1.0)}
        options |= {"of another host": ("other.example", 1.0, -2.0)}
        self.contexts: dict[str, ssl.SSLContext] = {}
        self.trusted: list[Path] = []
        for name, given in options.items():
            root, pair = certify(folder / name, *given)
            self.trusted += [root] if name != "unknown" else []
            self.contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.contexts[name].load_cert_chain(*pair.split(","))
        self.authorities = folder / "authorities.pem"
        self.authorities.write_text("".join(each.read_text() for each in self.trusted))
        self.now = "good"
        self._folder = folder

    def fingerprint(self, name: str = "good") -> str:
        chain = (self._folder / name / "chain.pem").read_text()
        leaf = chain[: chain.index("-----END CERTIFICATE-----") + 26]
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(leaf)).hexdigest()

    def shown(self) -> ssl.SSLContext:
        return self.contexts[self.now]
