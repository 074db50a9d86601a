"""The address of a topic, taken apart: mqtt://[user:password@]HOST[:PORT]/TOPIC."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from crowdml.errors import InvalidInput

PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class TopicAddress:
    """A broker, who asks there, and for which topic; written out, it has no password."""

    scheme: str
    host: str
    port: int
    topic: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        user = f"{self.user}:…@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}/{self.topic}"

    @property
    def secure(self) -> bool:
        return self.scheme == "mqtts"


def is_address(source: str) -> bool:
    """Whether a source is a topic, and no file."""
    return source.partition("://")[0] in PORTS and "://" in source


def read_address(source: str) -> TopicAddress:
    """The parts of an address; all that follows the first / is the topic.

    >>> address = read_address("mqtt://ann:secret@broker.example/home/room")
    >>> address.host, address.port, address.topic, address.password
    ('broker.example', 1883, 'home/room', 'secret')
    >>> print(address)
    mqtt://ann:…@broker.example:1883/home/room
    """
    scheme, _, rest = source.partition("://")
    place, _, topic = rest.partition("/")
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    # 0 is no port either, but would be taken for a missing one.
    if not host or not topic or port == 0 or place.endswith("@"):
        # Without what may be a password.
        found = f"{scheme}://{place.rpartition('@')[2]}/{topic}"
        raise InvalidInput(
            "a topic's address must be mqtt://[user:password@]HOST[:PORT]/TOPIC, found "
            f"{found!r}. A @, : or / in a password is written %40, %3A, %2F."
        )
    user, password = (value and unquote(value) for value in (parts.username, parts.password))
    return TopicAddress(scheme, host, port or PORTS[scheme], unquote(topic), user, password)
