"""The pictures on the pages, as SVG or PNG, and their numbers as CSV."""

import time

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.charts import CHARTS, draw_spark
from crowdml.portal.context import learner_of, portal_of
from crowdml.portal.drawing import THEMES, save
from crowdml.portal.gallery import as_csv
from crowdml.portal.hiding import Slider, hiding, sliders
from crowdml.portal.page import HEADERS
from crowdml.portal.tasks import facts_of
from crowdml.protocol import rejected

__all__ = ["chart", "hidden", "spark"]

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


async def hidden(request: Request) -> Response:
    """How the task's mechanism hides, at the settings in the query."""
    learner, theme = learner_of(request), _theme(request)
    terms, colours = learner.task.terms, THEMES[theme]
    settings = {slider.name: _setting(request, slider) for slider in sliders(terms)}
    body = await portal_of(request).hidden.picture(
        (learner.id, theme, *settings.values()),
        lambda: save(hiding(terms, **settings).draw(colours), "svg", colours),
    )
    return _picture(body, "svg")


def _picture(body: bytes, kind: str, name: str = "") -> Response:
    headers = HEADERS | {"Cache-Control": "no-cache", "Vary": "Accept-Language"}
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return Response(body, media_type=FORMATS[kind], headers=headers)


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _setting(request: Request, slider: Slider) -> float:
    """Rounded as the sliders do, so that there are not endlessly many pictures to draw."""
    text = request.query_params.get(slider.name, "")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not slider.low <= value <= slider.high:
        raise rejected(
            "invalid-parameter",
            f"{slider.name} must lie in {slider.low:g} … {slider.high:g}, found {text[:40]!r}.",
        )
    return float(f"{value:.{3 if slider.whole else 2}g}")
