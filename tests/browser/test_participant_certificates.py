"""Certificates that are or become wrong, in a browser that checks them."""

import select
import shutil
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.chromium import LOOKS, Watch, launched
from tests.browser.participants import Participant, phone_task, running
from tests.conformance.certificates import Certificates
from tests.support.servers import PATIENCE, Portal
from tests.web.pages import add_tasks

pytestmark = [
    pytest.mark.xdist_group("phones"),
    pytest.mark.skipif(not shutil.which("certutil"), reason="certutil is not installed"),
]

WRONG = {
    "unknown": "ERR_CERT_AUTHORITY_INVALID",
    "expired": "ERR_CERT_DATE_INVALID",
    "not yet valid": "ERR_CERT_DATE_INVALID",
    "of another host": "ERR_CERT_COMMON_NAME_INVALID",
}
"""What Chromium says of each."""

KEPT = """async () => {
    const open = await caches.match("/join/trusted");
    return navigator.serviceWorker.controller && open && caches.match("/web/joined.js");
}"""
UNTRUSTED = "your browser does not trust its certificate"


class Front:
    """Add TLS to a server, and count the bytes that arrive under each certificate."""

    def __init__(self, server: Portal, certificates: Certificates) -> None:
        self._server, self._certificates = server, certificates
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.url = f"https://localhost:{self._listening.getsockname()[1]}"
        self.heard: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    def show(self, name: str) -> None:
        """Use this certificate from now on, also for open connections."""
        self._certificates.now = name
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def running(self) -> Iterator["Front"]:
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self.show("good")

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        name = self._certificates.now
        self._open.add(plain)
        try:
            with (
                self._certificates.contexts[name].wrap_socket(plain, server_side=True) as secured,
                socket.create_connection(("127.0.0.1", self._server.port)) as behind,
            ):
                self._open.add(secured)
                self._relay(name, secured, behind)
        except OSError:
            self.rejected[name] += 1
        finally:
            self._open.discard(plain)

    def _relay(self, name: str, secured: ssl.SSLSocket, behind: socket.socket) -> None:
        while True:
            ready = [secured] if secured.pending() else select.select([secured, behind], [], [])[0]
            for source in ready:
                data = source.recv(2**16)
                if not data:
                    return
                if source is secured:
                    self.heard[name] += len(data)
                (behind if source is secured else secured).sendall(data)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def front(phones: Portal, certificates: Certificates) -> Iterator[Front]:
    with Front(
        add_tasks(phones, phone_task("trusted", collection__buffer=1000)), certificates
    ).running() as front:
        yield front


@pytest.fixture(scope="module")
def careful(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """Start a browser that trusts the tests' authorities and checks every certificate."""
    home = tmp_path_factory.mktemp("home")
    database = home / ".pki" / "nssdb"
    database.mkdir(parents=True)
    own = ["-d", f"sql:{database}"]
    subprocess.run(["certutil", "-N", "--empty-password", *own], check=True)
    for i, each in enumerate(certificates.trusted):
        add = ["certutil", "-A", "-n", f"authority {i}", "-t", "C,,", "-i", str(each), *own]
        subprocess.run(add, check=True)
    with launched(home) as browser:
        yield browser


@pytest.fixture
def page(careful: Browser, front: Front, watch: Watch) -> Iterator[Page]:
    front.show("good")
    context = careful.new_context(base_url=front.url, **LOOKS["phone-light"])
    context.set_default_timeout(1000 * PATIENCE)
    watch.origins.add(front.url)
    watch.follow(context)
    yield context.new_page()
    context.close()
    assert watch.verdict() == []


@pytest.mark.parametrize("wrong", WRONG)
def test_nothing_is_sent_at_a_first_visit(page: Page, front: Front, wrong: str) -> None:
    front.show(wrong)
    with pytest.raises(Error, match=WRONG[wrong]):
        page.goto("/join/trusted")
    assert front.heard[wrong] == 0


def test_a_certificate_that_becomes_wrong(
    page: Page, front: Front, phones: Portal, watch: Watch
) -> None:
    """The page says so, keeps its samples, and goes on when the certificate is right again."""
    watch.allow("ERR_CERT_|ERR_CONNECTION_|ERR_EMPTY_RESPONSE|when fetching the script")
    participant = Participant(page, phones, "trusted").open()
    front.show("expired")
    participant.tap("Agree and take part")
    expect(page.get_by_role("alert")).to_contain_text(UNTRUSTED)
    front.show("good")
    participant.agree(1000).tap("Still")
    for wrong in WRONG:
        participant.until_applied(participant.applied() + 1)
        front.show(wrong)
        participant.says(UNTRUSTED)
        before = participant.collected()
        participant.until(partial(has_more, participant, before))
        assert front.heard[wrong] == 0
        assert front.rejected[wrong] > 0
        front.show("renewed")
    participant.until_applied(participant.applied() + 1)
    assert front.heard["renewed"] > 0


def test_a_page_that_is_opened_again_under_a_wrong_certificate(
    page: Page, front: Front, phones: Portal, watch: Watch
) -> None:
    """It comes from the browser itself, with all its samples, and nothing is sent."""
    watch.allow("ERR_CERT_|ERR_CONNECTION_|ERR_EMPTY_RESPONSE|when fetching the script")
    participant = running(page, phones, "trusted", "Still")
    page.wait_for_function(KEPT)
    participant.until(partial(has_more, participant, 0))
    heard = front.heard["expired"]
    front.show("expired")
    participant.says(UNTRUSTED)
    participant.tap("Pause")
    before = participant.collected()
    page.reload()
    participant.says("Paused. Nothing is collected.")
    assert participant.collected() == before
    assert front.heard["expired"] == heard == 0


def has_more(participant: Participant, samples: int) -> bool:
    return participant.collected() > samples
