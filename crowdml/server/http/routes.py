"""List the routes under /v1, and define the handlers behind them."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from crowdml.errors import Rejected
from crowdml.learnt import MODEL_FORMATS
from crowdml.phrase import Phrase
from crowdml.privacy import Role
from crowdml.protocol import (
    TERMS_HEADER,
    Enrol,
    TaskList,
    openapi,
    rejected,
)
from crowdml.server.content_coding import best_coding
from crowdml.server.http.body import decode, read_body
from crowdml.server.http.builds import Exports, SharedBuilds
from crowdml.server.http.checkin import CheckinHandler, Dispatcher, bearer_token
from crowdml.server.http.compression import Compression
from crowdml.server.http.event_stream import EventStream
from crowdml.server.http.metrics import MEDIA_TYPE as METRICS_TYPE
from crowdml.server.http.metrics import metrics
from crowdml.server.http.metrics_access import may_read_metrics
from crowdml.server.http.public_address import ProxyRestorer, PublicAddress
from crowdml.server.http.rejections import ErrorPage, reject, reject_http, server_error
from crowdml.server.http.visitor import visitor_of
from crowdml.server.results import current_statistics, task_view
from crowdml.server.service import ServedTask, Service
from crowdml.server.settings import Settings

SMALL_BODY = 4096
FEW_PARAMETERS = 2**14
"""Parameters up to which a check-out is made faster here than in another thread."""

BUILDS_AT_ONCE = 2
PIECE_BYTES = 2**18
"""The size of a piece: copying one blocks the event loop, and each waits for the reader."""

DIRECT_ADDRESS = PublicAddress()
ROLES = frozenset(role.value for role in Role)
ENROL = msgspec.json.Decoder(Enrol)


async def list_tasks(request: Request) -> Response:
    return _json(TaskList(tuple(map(task_view, _service(request).registry.learners()))))


async def describe_task(request: Request) -> Response:
    return _json(task_view(_served(request).learner))


async def enrol(request: Request) -> Response:
    learner = _served(request).learner
    message = decode(ENROL, await read_body(request.scope, request.receive, SMALL_BODY))
    enrolled = await _service(request).registry.enrol(learner, message, visitor_of(request.scope))
    return _json(enrolled, status=201)


async def leave(request: Request) -> Response:
    registry, learner = _service(request).registry, _served(request).learner
    await registry.leave(learner, await registry.device(learner, bearer_token(request.scope)))
    return Response(status_code=204)


async def check_out(request: Request) -> Response:
    served = _served(request)
    await _service(request).registry.device(served.learner, bearer_token(request.scope))
    published, role = served.learner.published, _role(request)
    etag = published.etag(role)
    headers = {
        "ETag": etag,
        TERMS_HEADER: served.learner.terms_sha256,
        "Cache-Control": "private, no-cache",
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    coding = best_coding(request.headers.get("accept-encoding", ""))
    if coding:
        headers |= {"Content-Encoding": coding, "Vary": "Accept-Encoding"}
    if published.exported.size <= FEW_PARAMETERS or published.has_body(role, coding):
        body = published.body(role, coding)
    else:
        builds: SharedBuilds = request.app.state.builds
        key = served.learner.id, etag, coding
        body = await builds.build_once(key, lambda: published.body(role, coding))
    return _in_pieces(body, "application/json", headers)


def _role(request: Request) -> Role:
    """Return the role of the check-in that the parameters are for."""
    name = request.query_params.get("role", Role.TRAIN.value)
    if name not in ROLES:
        words = Phrase(
            "role must be train, evaluate or count, found {found}.", found=f"{name[:40]!r}"
        )
        raise rejected("invalid-parameter", words)
    return Role(name)


async def show_statistics(request: Request) -> Response:
    return _json(current_statistics(_served(request).learner))


async def stream_statistics(request: Request) -> Response:
    """Stream the statistics now and after every change, until task or listener are gone."""
    service, learner = _service(request), _served(request).learner
    counts = service.counts
    if counts.listeners >= service.settings.most_listeners:
        n = counts.listeners
        words = Phrase(
            "no more listeners are allowed at once, found {n}. Ask for the statistics from time to "
            "time.",
            n=n,
        )
        raise rejected("unavailable", words, retry_after=30)

    async def stream() -> AsyncIterator[bytes]:
        while service.ready and service.registry.serves(learner):
            # Get the event before reading the statistics, so that no change is missed while they
            # are sent.
            news, published = service.listeners.news, learner.published
            yield published.statistics_event(learner.devices, time.time())
            if published.state.final:
                return
            await news.wait()

    # Count this listener before the next one is accepted, and until it is gone.
    counts.listeners += 1
    return EventStream(stream(), counts)


async def export_model(request: Request) -> Response:
    learner = _served(request).learner
    kind = request.query_params.get("format", "npz")
    if kind not in MODEL_FORMATS:
        words = Phrase("format must be npz, json or onnx, found {found}.", found=f"{kind[:40]!r}")
        raise rejected("invalid-parameter", words)
    # Other formats are compressed already, or hold numbers that hardly become smaller.
    coding = best_coding(request.headers.get("accept-encoding", "")) if kind == "json" else ""
    exports: Exports = request.app.state.exports
    file = await exports.file(learner, kind, coding)
    name = f"{learner.task.name}-{file.version}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if kind == "json":
        headers |= {"Vary": "Accept-Encoding"}
    if file.coding:
        headers |= {"Content-Encoding": file.coding}
    return _in_pieces(file.body, MODEL_FORMATS[kind], headers)


async def describe_api(request: Request) -> Response:
    return Response(msgspec.json.encode(openapi(version("crowdml"))), media_type="application/json")


async def report_alive(request: Request) -> Response:
    return PlainTextResponse("alive\n")


async def report_ready(request: Request) -> Response:
    service = _service(request)
    if not service.ready:
        raise rejected(
            "unavailable", Phrase("the server is starting or stopping. Try again in a few seconds.")
        )
    if trouble := service.heartbeat.trouble:
        raise rejected(
            "unavailable",
            Phrase("the server cannot store anything: {why}. Try again later.", why=trouble),
        )
    return PlainTextResponse("ready\n")


async def show_metrics(request: Request) -> Response:
    service = _service(request)
    address: PublicAddress = request.app.state.public_address
    behind = bool(address.url or address.proxies)
    if not may_read_metrics(request.scope, service.settings.metrics_token, behind):
        raise HTTPException(404)
    nodes = await service.run_in_reader(service.heartbeat.rows)
    return Response(metrics(nodes), media_type=METRICS_TYPE)


CHECKINS = Route("/v1/tasks/{task}/checkins", CheckinHandler(), methods=["POST"])
ROUTES = [
    CHECKINS,
    Route("/v1/tasks", list_tasks),
    Route("/v1/tasks/{task}", describe_task),
    Route("/v1/tasks/{task}/devices", enrol, methods=["POST"]),
    Route("/v1/tasks/{task}/devices/me", leave, methods=["DELETE"]),
    Route("/v1/tasks/{task}/model", check_out),
    Route("/v1/tasks/{task}/stats", show_statistics),
    Route("/v1/tasks/{task}/events", stream_statistics),
    Route("/v1/tasks/{task}/export", export_model),
    Route("/v1/openapi.json", describe_api),
    Route("/healthz", report_alive),
    Route("/readyz", report_ready),
    Route("/metrics", show_metrics),
]


class Application(Starlette):
    """Handle each request: restore it as its sender made it, then call its endpoint."""

    def build_middleware_stack(self) -> ASGIApp:
        address: PublicAddress = self.state.public_address
        app = Dispatcher(super().build_middleware_stack(), CHECKINS, reject, server_error)
        return ProxyRestorer(app, address) if address.prefix or address.proxies else app


def create_app(
    settings: Settings,
    public_address: PublicAddress = DIRECT_ADDRESS,
    extra_routes: Sequence[BaseRoute] = (),
    error_page: ErrorPage | None = None,
    state: Mapping[str, object] | None = None,
) -> Starlette:
    """Make the application, with everything that its handlers need on `app.state`.

    Args:
        extra_routes: What it serves besides the protocol: the portal's pages.
        error_page: Shows an error to a person; programs get problem documents.
        state: What the extra routes need.
    """
    service, builds = Service(settings), SharedBuilds(BUILDS_AT_ONCE)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        yield
        builds.close()
        await service.stop()

    app = Application(
        routes=[*ROUTES, *extra_routes],
        exception_handlers={Rejected: reject, HTTPException: reject_http, Exception: server_error},
        lifespan=lifespan,
        middleware=[Middleware(Compression)],
    )
    app.router.redirect_slashes = False
    app.state.settings = settings
    app.state.service = service
    app.state.public_address = public_address
    app.state.builds = builds
    app.state.exports = Exports(builds, settings.most_export_bytes)
    app.state.error_page = error_page
    for name, value in (state or {}).items():
        setattr(app.state, name, value)
    return app


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _served(request: Request) -> ServedTask:
    return _service(request).registry.task(request.path_params["task"])


def _json(message: msgspec.Struct, status: int = 200) -> Response:
    return Response(msgspec.json.encode(message), status, media_type="application/json")


def _in_pieces(body: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """Send a large body in pieces, so that a slow reader takes memory for a few pieces only."""
    if len(body) <= PIECE_BYTES:
        return Response(body, media_type=media_type, headers=headers)

    async def pieces() -> AsyncIterator[bytes]:
        for first in range(0, len(body), PIECE_BYTES):
            yield body[first : first + PIECE_BYTES]

    length = {"Content-Length": str(len(body))}
    return StreamingResponse(pieces(), media_type=media_type, headers=headers | length)
