"""Call an app in this process, without a server."""

from collections.abc import Mapping

from starlette.applications import Starlette

EMPTY: Mapping[str, str] = {}


async def call(
    app: Starlette, method: str, path: str, body: bytes = b"", more: Mapping[str, str] = EMPTY
) -> tuple[int, bytes]:
    """Send one request to the app."""
    path, _, query = path.partition("?")
    headers = {"host": "here", "accept": "text/html", "content-length": str(len(body))}
    headers |= {"content-type": "application/x-www-form-urlencoded"} | dict(more)
    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode(),
        "scheme": "http", "server": ("here", 80), "root_path": "", "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    await app(scope, receive, send)  # type: ignore[arg-type]
    status = sent[0]["status"]
    assert isinstance(status, int)
    return status, b"".join(bytes(message.get("body", b"")) for message in sent[1:])  # type: ignore[call-overload]
