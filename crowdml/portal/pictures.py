"""The pictures on the pages, as SVG or PNG, and their numbers as CSV."""

import time

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.charts import CHARTS, draw_spark
from crowdml.portal.context import learner_of, portal_of
from crowdml.portal.drawing import THEMES, save
from crowdml.portal.gallery import as_csv
from crowdml.portal.noise_picture import draw_hiding, hiding
from crowdml.portal.page import HEADERS
from crowdml.portal.tasks import facts_of
from crowdml.protocol import rejected

__all__ = ["chart", "noise", "spark"]

FORMATS = {"csv": "text/csv; charset=utf-8", "png": "image/png", "svg": "image/svg+xml"}


async def chart(request: Request) -> Response:
    name, kind = request.path_params["chart"], request.path_params["format"]
    if name not in CHARTS or kind not in FORMATS:
        raise rejected("not-found", f"there is no chart {name[:40]}.{kind[:10]}.")
    learner, theme, facts = learner_of(request), _theme(request), await facts_of(request)
    if kind == "csv":
        body = as_csv(CHARTS[name].columns, CHARTS[name].rows(facts))
    else:
        # Pace moves with the clock, the others with the check-ins alone.
        minute = time.time() // 60 if name == "pace" else 0
        key = (learner.id, name, kind, theme, facts.statistics.version, minute)
        body = await portal_of(request).charts.picture(
            key, lambda: save(CHARTS[name].draw(facts, THEMES[theme]), kind, THEMES[theme])
        )
    saved = f"{learner.task.name}-{name}" if "save" in request.query_params else ""
    return _picture(body, kind, saved)


async def spark(request: Request) -> Response:
    learner, theme, facts = learner_of(request), _theme(request), await facts_of(request)
    key = (learner.id, "spark", theme, facts.statistics.version)
    colours = THEMES[theme]
    body = await portal_of(request).charts.picture(
        key, lambda: save(draw_spark(facts, colours), "svg", colours)
    )
    return _picture(body, "svg")


async def noise(request: Request) -> Response:
    """How noise hides one sample, for the ε and b in the query."""
    learner, theme = learner_of(request), _theme(request)
    # Rounded as the sliders do, so that there are not endlessly many pictures to draw.
    epsilon = float(f"{_number(request, 'epsilon', 0.01, 100.0):.2g}")
    batch = round(float(f"{_number(request, 'batch', 1, 10_000):.3g}"))
    how = hiding(learner.task.terms, epsilon, batch)
    colours = THEMES[theme]
    key = (learner.id, "noise", theme, how)
    body = await portal_of(request).noise.picture(
        key, lambda: save(draw_hiding(how, colours), "svg", colours)
    )
    return _picture(body, "svg")


def _picture(body: bytes, kind: str, name: str = "") -> Response:
    headers = HEADERS | {"Cache-Control": "no-cache"}
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return Response(body, media_type=FORMATS[kind], headers=headers)


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _number(request: Request, name: str, low: float, high: float) -> float:
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise rejected(
            "invalid-parameter", f"{name} must lie in {low:g} … {high:g}, found {text[:40]!r}."
        )
    return value
