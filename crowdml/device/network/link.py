"""Read the link to a task that a participant receives."""

from typing import NamedTuple
from urllib.parse import urlsplit

from crowdml.errors import InvalidInput
from crowdml.protocol import check_name
from crowdml.tables import check_kind


class Link(NamedTuple):
    """Hold a server's root and the name of a task there."""

    root: str
    task: str


class ServerRoot(NamedTuple):
    """Hold the parts of a server's address."""

    scheme: str
    hostname: str
    port: int | None
    path: str


def split_root(url: str) -> ServerRoot:
    """Split a server's root into its parts.

    >>> split_root("https://crowd.example:8443")
    ServerRoot(scheme='https', hostname='crowd.example', port=8443, path='')
    """
    try:
        parts = urlsplit(url)
        # The resolver decides which host names are valid, by rules that differ between systems.
        host = (parts.hostname or "").encode("idna")
        if parts.scheme in ("http", "https") and host and " " not in url and url.isprintable():
            return ServerRoot(parts.scheme, parts.hostname or "", parts.port, parts.path)
    except ValueError:
        pass
    raise InvalidInput(f"a server URL must be https://host:port, found {url!r}.")


def read_link(url: str, task: str | None = None) -> Link:
    """Read a link such as https://host/join/activity, or a root and a task's name.

    >>> read_link("https://crowd.example/join/activity")
    Link(root='https://crowd.example', task='activity')
    """
    check_kind("a link", url, str, "a text")
    try:
        if not url.isprintable():
            raise ValueError("it has characters that cannot be seen")
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(
            f"a link must be https://HOST:PORT/join/TASK, found {url!r}: {error}."
        ) from error
    for marker in ("/join/", "/v1/tasks/", "/tasks/"):
        prefix, found, name = parts.path.rstrip("/").removesuffix("/export").partition(marker)
        if found and name:
            return Link(f"{parts.scheme}://{parts.netloc}{prefix}", check_name(task or name))
    if not task:
        raise InvalidInput(
            f"a link must name a task, https://HOST/join/TASK, found {url!r}. Copy the whole link."
        )
    return Link(url.rstrip("/"), check_name(task))
