"""Read the addresses of live sources: topics, ports to listen on, phones to ask."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from crowdml.errors import InvalidInput

PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class TopicAddress:
    """Hold a broker, a user there, and a topic; as a text, it has no password."""

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
    """Return whether a source is a topic, not a file."""
    return source.partition("://")[0] in PORTS and "://" in source


def read_address(source: str) -> TopicAddress:
    """Read an address; everything after the first / is the topic.

    >>> address = read_address("mqtt://ann:secret@broker.example/home/room")
    >>> address.host, address.port, address.topic, address.password
    ('broker.example', 1883, 'home/room', 'secret')
    >>> print(address)
    mqtt://ann:…@broker.example:1883/home/room
    """
    scheme, host, port, user, password, topic = _parts(
        source, "a topic's address", "mqtt://[user:password@]HOST[:PORT]/TOPIC", True
    )
    return TopicAddress(scheme, host, port or PORTS[scheme], unquote(topic), user, password)


@dataclass(frozen=True)
class ListenAddress:
    """Hold where to listen, and what a sender must know: a path, or a user and a password.

    As a text, it has neither the path nor the password.
    """

    scheme: str
    host: str
    port: int
    path: str = field(default="", repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        user = f"{self.user}:…@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}{'/…' if self.path else ''}"

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def guarded(self) -> bool:
        return bool(self.path or self.password)

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "127.0.0.1", "::1")


def read_listen_address(source: str) -> ListenAddress:
    """Read http[s]://[user:password@]HOST:PORT[/PATH].

    >>> address = read_listen_address("http://0.0.0.0:8000/secret")
    >>> address.host, address.port, address.path
    ('0.0.0.0', 8000, 'secret')
    >>> print(address, read_listen_address("http://ann:secret@[::]:8000"))
    http://0.0.0.0:8000/… http://ann:…@[::]:8000
    """
    expected = "http://[user:password@]HOST:PORT[/PATH]"
    scheme, host, port, user, password, path = _parts(source, "a port's address", expected)
    if port is None or (user and not password):
        raise InvalidInput(f"a port's address must be {expected}, found no port, or no password.")
    return ListenAddress(scheme, host, port, path.strip("/"), user, password)


@dataclass(frozen=True)
class PhoneAddress:
    """Hold the address of a phone on which phyphox allows remote access."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"phyphox://{host}:{self.port}"


def read_phone_address(source: str) -> PhoneAddress:
    """Read phyphox://HOST[:PORT].

    >>> read_phone_address("phyphox://192.168.1.7")
    PhoneAddress(host='192.168.1.7', port=8080)
    """
    _, host, port, *_ = _parts(source, "a phone's address", "phyphox://HOST[:PORT]")
    return PhoneAddress(host, port or 8080)


def _parts(
    source: str, what: str, expected: str, with_path: bool = False
) -> tuple[str, str, int | None, str | None, str | None, str]:
    """Return scheme, host, port, user, password, and everything after the first /."""
    scheme, _, rest = source.partition("://")
    authority, _, path = rest.partition("/")
    try:
        parts = urlsplit(f"//{authority}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    # Port 0 cannot be connected to, and would be mistaken for a missing port.
    if not host or port == 0 or authority.endswith("@") or (with_path and not path):
        # The message must not contain a password.
        found = f"{scheme}://{authority.rpartition('@')[2]}/{path}"
        raise InvalidInput(
            f"{what} must be {expected}, found {found!r}. A @, : or / in a password is written "
            "%40, %3A, %2F."
        )
    user, password = (value and unquote(value) for value in (parts.username, parts.password))
    return scheme, host, port, user, password, path
