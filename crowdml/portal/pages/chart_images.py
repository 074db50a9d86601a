"""Serve the pictures of the pages as SVG or PNG, and their numbers as CSV."""

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.phrase import Phrase
from crowdml.portal.pages.context import learner_of, portal_of
from crowdml.portal.pages.page import HEADERS
from crowdml.portal.pages.public_pages import numbers_of
from crowdml.portal.pictures import (
    CHARTS,
    THEMES,
    Slider,
    as_csv,
    draw_spark,
    hiding,
    save,
    sliders,
)
from crowdml.protocol import Terms, rejected

CACHED_PARAMETERS = {"v", "epsilon"}
"""The parameters in the query of a picture that may be cached for a while."""

OUT_OF_RANGE = "{name} must lie in {low} … {high}, found {found}."
NOTHING_HEADER = "Crowdml-Nothing"
"""The header of a picture that only explains why there is nothing to draw."""

FORMATS = {"csv": "text/csv; charset=utf-8", "png": "image/png", "svg": "image/svg+xml"}


async def chart(request: Request) -> Response:
    name, kind = request.path_params["chart"], request.path_params["format"]
    if name not in CHARTS or kind not in FORMATS:
        raise rejected(
            "not-found", Phrase("there is no chart {name}.", name=f"{name[:40]}.{kind[:10]}")
        )
    learner, theme, numbers = learner_of(request), _theme(request), numbers_of(request)
    if kind == "csv":
        body = as_csv(CHARTS[name].columns, CHARTS[name].rows(numbers))
    else:
        # The pace chart changes with the clock, the others only with check-ins.
        minute = time.time() // 60 if name == "pace" else 0
        now = numbers.statistics
        key = (learner.id, name, kind, theme, now.version, now.state.final, minute)
        drawn, colours = CHARTS[name], THEMES[theme]
        body = await portal_of(request).charts.get(
            key, lambda: save(drawn.picture(numbers, colours), kind, colours, drawn.alt(numbers))
        )
    saved = f"{learner.task.name}-{name}" if "save" in request.query_params else ""
    answer = _picture(request, body, kind, saved)
    if CHARTS[name].nothing(numbers):
        answer.headers[NOTHING_HEADER] = "yes"
    return answer


async def spark(request: Request) -> Response:
    learner, theme, numbers = learner_of(request), _theme(request), numbers_of(request)
    key = (learner.id, "spark", theme, numbers.statistics.version)
    colours = THEMES[theme]
    body = await portal_of(request).charts.get(
        key, lambda: save(draw_spark(numbers, colours), "svg", colours)
    )
    return _picture(request, body, "svg")


async def hiding_picture(request: Request) -> Response:
    """Draw how the task's mechanism hides samples, at the settings in the query."""
    learner, theme = learner_of(request), _theme(request)
    terms, colours = learner.task.terms, THEMES[theme]
    settings = {slider.name: _setting(request, slider) for slider in sliders(terms)}
    if "sent" in request.query_params:
        settings["sent"] = _sent(request, terms)

    def draw() -> bytes:
        how = hiding(terms, **settings)
        return save(how.draw(colours), "svg", colours, how.caption)

    again = request.query_params.get("again", "")[:9]
    key = (learner.id, theme, again, *settings.values())
    return _picture(request, await portal_of(request).hiding_pictures.get(key, draw), "svg")


def _picture(request: Request, body: bytes, kind: str, name: str = "") -> Response:
    # A page that asks for a version reads the title first and then shows the same cached file.
    cache = "private, max-age=60" if request.query_params.keys() & CACHED_PARAMETERS else "no-cache"
    headers = HEADERS | {"Cache-Control": cache, "Vary": "Accept-Language"}
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return Response(body, media_type=FORMATS[kind], headers=headers)


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _setting(request: Request, slider: Slider) -> float:
    """Round a setting as the sliders do, so that the number of different pictures is bounded."""
    value = _number(request, slider.name, slider.low, slider.high)
    return float(f"{value:.{3 if slider.whole else 2}g}")


def _sent(request: Request, terms: Terms) -> int:
    """Read the rank of the direction that the dial's needle points at."""
    most = terms.mechanism().picture(terms.loss.total, terms.collection.batch).numbers
    return int(_number(request, "sent", 1, most))


def _number(request: Request, name: str, low: float, high: float) -> float:
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        problem = Phrase(OUT_OF_RANGE, name=name, low=low, high=high, found=f"{text[:40]!r}")
        raise rejected("invalid-parameter", problem)
    return value


ROUTES = [
    Route("/tasks/{task}/spark.svg", spark),
    Route("/tasks/{task}/hiding.svg", hiding_picture),
    Route("/tasks/{task}/charts/{chart}.{format}", chart),
]
