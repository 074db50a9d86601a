"""Test what may be configured about the way into a server, and which headers are trusted."""

import asyncio
from typing import Any

import pytest
from starlette.routing import Route

from crowdml.errors import InvalidInput
from crowdml.server.http.checkin import Dispatcher
from crowdml.server.http.public_address import ProxyRestorer, PublicAddress


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org",
        "https://",
        "https://[",
        "https://example.org:99999",
        "https://ada@example.org",
        "https://example.org/a b",
        "https://example.org/?q",
        "https://example.org/#x",
        'https://example.org/"><script>',
    ],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(InvalidInput, match="a public URL must be"):
        PublicAddress(url)


@pytest.mark.parametrize("proxies", ["here", "10.0.0.1/8", "1.2.3", "10.0.0.1,x"])
def test_proxies_that_are_none(proxies: str) -> None:
    with pytest.raises(InvalidInput, match="a proxy to trust must be an address"):
        PublicAddress(proxies=proxies)


def seen(
    public_address: PublicAddress, path: str = "/", client: str = "10.1.2.3", **headers: str
) -> dict[str, Any]:
    """Return the scope of a request as the app receives it."""
    found: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.update(scope)

    pairs = [(b"host", b"inside")]
    pairs += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "path": path,
        "client": (client, 1),
        "scheme": "http",
        "headers": pairs,
    }
    asyncio.run(ProxyRestorer(app, public_address)(scope, None, None))  # type: ignore[arg-type]
    found["host"] = [value.decode() for name, value in found["headers"] if name == b"host"]
    return found


@pytest.mark.parametrize(
    "headers",
    [
        {"x_forwarded_proto": "https", "x_forwarded_host": "example.org"},
        {"x_forwarded_proto": "http, https", "x_forwarded_host": "evil.example, example.org"},
        {"forwarded": "for=1.2.3.4;proto=https;host=example.org"},
        {"forwarded": 'host=evil.example, For=1.2.3.4; Proto=https; Host="example.org"'},
    ],
)
def test_the_last_proxy_is_believed_if_trusted(headers: dict[str, str]) -> None:
    public_address = PublicAddress(proxies="10.0.0.0/8, fd00::/8")
    for client in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1"):
        found = seen(public_address, client=client, **headers)
        assert (found["scheme"], found["host"]) == ("https", ["example.org"])
    for client in ("11.1.2.3", "::1", "::ffff:11.1.2.3"):
        found = seen(public_address, client=client, **headers)
        assert (found["scheme"], found["host"]) == ("http", ["inside"])


def test_schemes_that_are_none_are_ignored() -> None:
    found = seen(PublicAddress(proxies="10.1.2.3"), x_forwarded_proto="javascript")
    assert (found["scheme"], found["host"]) == ("http", ["inside"])


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/crowd/tasks/x", "/tasks/x"),
        ("/crowd/", "/"),
        ("/crowd", "/"),
        ("/tasks/x", "/tasks/x"),
        ("/crowded", "/crowded"),
    ],
)
def test_the_prefix_is_taken_off(path: str, found: str) -> None:
    assert seen(PublicAddress("https://example.org/crowd/"), path)["path"] == found


CHECKINS = "/v1/tasks/{task}/checkins"


def taken(public_address: PublicAddress, method: str, path: str) -> tuple[str, str | None]:
    """Return who handles a request, and for which task."""
    found: list[tuple[str, str | None]] = []

    class Endpoint:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            found.append(("endpoint", scope["path_params"]["task"]))

    async def router(scope: Any, receive: Any, send: Any) -> None:
        found.append((scope["path"], None))

    async def never(request: Any, error: Any) -> Any:
        raise error

    route = Route(CHECKINS, Endpoint(), methods=["POST"])
    app = ProxyRestorer(Dispatcher(router, route, never, never), public_address)
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    asyncio.run(app(scope, None, None))  # type: ignore[arg-type]
    (one,) = found
    return one


@pytest.mark.parametrize("url", [None, "https://example.org", "https://example.org/crowd"])
def test_check_ins_have_one_way(url: str | None) -> None:
    """Check that check-ins at any address reach the same endpoint."""
    public_address = PublicAddress(url)
    for prefix in {"", public_address.prefix}:
        path = f"{prefix}/v1/tasks/activity/checkins"
        assert taken(public_address, "POST", path) == ("endpoint", "activity")
        assert taken(public_address, "POST", f"{prefix}/v1/tasks//checkins") == ("endpoint", "")
        assert taken(public_address, "GET", path) == ("/v1/tasks/activity/checkins", None)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tasks/a/b/checkins", "/v1/tasks/activity/checkins/", "/v1/tasks/checkins",
        "/v1/tasks/activity/model", "/other/v1/tasks/activity/checkins", "/", "",
    ],
)  # fmt: skip
def test_all_else_goes_to_the_router(path: str) -> None:
    assert taken(PublicAddress("https://example.org/crowd"), "POST", path) == (path, None)
