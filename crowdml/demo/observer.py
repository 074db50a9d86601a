"""Watch a task from outside, as the portal does."""

import http.client
import time
from urllib.parse import urlsplit

import msgspec

from crowdml.demo.launcher import HUNG_AFTER_SECONDS
from crowdml.device import fetch_certificate, trust_only
from crowdml.protocol import Statistics


class Observer:
    """Read what anyone may read: statistics and the model."""

    def __init__(self, url: str, task: str, fingerprint: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "",
            parts.port,
            timeout=10,
            context=trust_only(fetch_certificate(url, fingerprint)),
        )
        self._path = f"/v1/tasks/{task}"

    def statistics(self) -> Statistics:
        return msgspec.json.decode(self._ask("/stats")[1], type=Statistics)

    def model(self, format: str = "npz") -> bytes | None:
        """Download the model as a file; None while nothing is learnt."""
        status, body = self._ask(f"/export?format={format}")
        return None if status == 404 else body

    def close(self) -> None:
        self._connection.close()

    def _ask(self, path: str) -> tuple[int, bytes]:
        """Send a request, again on a new connection while the server is too busy to answer."""
        end = time.monotonic() + HUNG_AFTER_SECONDS
        while True:
            try:
                self._connection.request("GET", self._path + path)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                self._connection.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.25)
