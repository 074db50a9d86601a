"""Someone who watches a task from outside, as the portal does."""

import http.client
from urllib.parse import urlsplit

import msgspec

from crowdml.device import pin, trust_only
from crowdml.protocol import Statistics

__all__ = ["Observer"]


class Observer:
    """Reads what anyone may read: statistics and the model."""

    def __init__(self, url: str, task: str, fingerprint: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=10, context=trust_only(pin(url, fingerprint))
        )
        self._path = f"/v1/tasks/{task}"

    def statistics(self) -> Statistics:
        return msgspec.json.decode(self._get("/stats"), type=Statistics)

    def model(self) -> bytes:
        return self._get("/export?format=npz")

    def close(self) -> None:
        self._connection.close()

    def _get(self, path: str) -> bytes:
        self._connection.request("GET", self._path + path)
        return self._connection.getresponse().read()
