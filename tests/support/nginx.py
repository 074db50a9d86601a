"""Run a real nginx with TLS, set up as docs/operate.md says."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crowdml.certificate import certificate_fingerprint, self_signed
from crowdml.demo import free_port
from tests.docs.pages import blocks, page
from tests.support.servers import eventually

AROUND = """
daemon off; pid {0}/pid; error_log {0}/error.log; {1}
events {{}}
http {{
access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
{2}
}}
"""


@dataclass
class Nginx:
    """Run nginx in front of a server on this machine.

    Args:
        folder: The folder for its files.
        server: The port of the server behind it.
        path: The path of the server; / for the whole site.
    """

    folder: Path
    server: int
    path: str = "/"
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}{self.path.rstrip('/')}"

    @property
    def fingerprint(self) -> str:
        return certificate_fingerprint(self_signed(self.folder, "localhost")[0])

    def configuration(self) -> str:
        whole, under_a_path = blocks(page("docs/operate.md"), "nginx")
        if self.path != "/":
            assert under_a_path.strip() == f"location {self.path} {{"
        certificate, key = self_signed(self.folder, "localhost")
        for shown, here in {
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "location / {": f"location {self.path} {{",
            "/etc/ssl/example.org.pem": str(certificate),
            "/etc/ssl/example.org.key": str(key),
            "example.org": "localhost",
            "127.0.0.1:8443": f"127.0.0.1:{self.server}",
        }.items():
            assert shown in whole
            whole = whole.replace(shown, here)
        return AROUND.format(self.folder, "user root;" if os.getuid() == 0 else "", whole)

    @contextmanager
    def running(self) -> Iterator["Nginx"]:
        # Debian keeps the program where only root's PATH looks.
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program, "the tests need nginx; `make test` installs it"
        self.folder.mkdir()
        file = self.folder / "nginx.conf"
        file.write_text(self.configuration())
        process = subprocess.Popen([program, "-c", str(file), "-e", str(self.folder / "error.log")])
        try:
            assert eventually(lambda: process.poll() is not None or self._answers())
            assert process.poll() is None, (self.folder / "error.log").read_text()
            yield self
        finally:
            process.terminate()
            process.wait()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def addresses(html: str) -> set[str]:
    """List everything on its own site that a page links to or loads."""
    found = re.findall(r'(?:href|src|action|data-events)="(/[^"#]*)', html)
    return {each.replace("&amp;", "&") for each in found}
