"""Answer rejected requests: problem documents for programs, pages for people."""

import logging
import math
from collections.abc import Callable
from typing import TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import MEDIA_TYPE, problem_document, rejected

ErrorPage: TypeAlias = Callable[[Request, Rejected], Response]
logger = logging.getLogger("crowdml.server")


async def reject(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    request.app.state.service.counts.rejections[error.kind] += 1
    page: ErrorPage | None = request.app.state.error_page
    if page and _is_for_people(request):
        return page(request, error)
    headers = {}
    if "retry_after" in error.extra:
        headers["Retry-After"] = str(math.ceil(error.extra["retry_after"]))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(problem_document(error), error.status, headers, MEDIA_TYPE)


async def reject_http(request: Request, error: Exception) -> Response:
    """Answer requests that the framework rejects by itself: unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    kind = "method-not-allowed" if error.status_code == 405 else "not-found"
    detail = Phrase(
        "{method} {path} is not part of the protocol. See /v1/openapi.json.",
        method=request.method,
        path=request.url.path[:200],
    )
    answer = await reject(request, rejected(kind, detail))
    answer.headers.update(error.headers or {})
    return answer


async def server_error(request: Request, error: Exception) -> Response:
    """Answer a fault of the server: the log has the details, the answer does not."""
    route = getattr(request.scope.get("route"), "path", "an address without a route")
    logger.error("%s %s failed", request.method, route, exc_info=error)
    detail = Phrase("the server has a fault. Try again later.")
    return await reject(request, rejected("fault", detail))


def _is_for_people(request: Request) -> bool:
    """Return whether to answer with a page; the protocol's own addresses always answer in JSON."""
    accepts = request.headers.get("accept", "")
    return "text/html" in accepts and not request.url.path.startswith("/v1/")
