"""The link that a participant is given, taken apart."""

from typing import NamedTuple
from urllib.parse import urlsplit

from crowdml.errors import InvalidInput
from crowdml.protocol import check_name

__all__ = ["Link", "read_link"]


class Link(NamedTuple):
    """A server's root and the name of a task there."""

    root: str
    task: str


def read_link(url: str, task: str | None = None) -> Link:
    """The parts of a link such as https://host/join/activity, or of a root and a task's name.

    >>> read_link("https://crowd.example/join/activity")
    Link(root='https://crowd.example', task='activity')
    """
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
        prefix, found, name = parts.path.rstrip("/").partition(marker)
        if found and name:
            return Link(f"{parts.scheme}://{parts.netloc}{prefix}", check_name(task or name))
    if not task:
        raise InvalidInput(
            f"which task? Give its link https://HOST/join/TASK, or --task, found {url!r}."
        )
    return Link(url.rstrip("/"), check_name(task))
