"""The pictures on the pages, as SVG or PNG, and their numbers as CSV."""

import time

from starlette.requests import Request
from starlette.responses import Response

from crowdml.phrase import Phrase
from crowdml.portal.charts import CHARTS
from crowdml.portal.context import learner_of, portal_of
from crowdml.portal.drawing import THEMES, save
from crowdml.portal.error_chart import draw_spark
from crowdml.portal.gallery import as_csv
from crowdml.portal.hiding import Slider, hiding, sliders
from crowdml.portal.page import HEADERS
from crowdml.portal.tasks import facts_of
from crowdml.privacy import DirectionMechanism
from crowdml.protocol import Terms, rejected

__all__ = ["chart", "hidden", "spark"]

FIXED = {"v", "epsilon"}
"""In the query of a picture that stays as it is for a while."""

FORMATS = {"csv": "text/csv; charset=utf-8", "png": "image/png", "svg": "image/svg+xml"}


async def chart(request: Request) -> Response:
    name, kind = request.path_params["chart"], request.path_params["format"]
    if name not in CHARTS or kind not in FORMATS:
        raise rejected(
            "not-found", Phrase("there is no chart {name}.", name=f"{name[:40]}.{kind[:10]}")
        )
    learner, theme, facts = learner_of(request), _theme(request), await facts_of(request)
    if kind == "csv":
        body = as_csv(CHARTS[name].columns, CHARTS[name].rows(facts))
    else:
        # Pace moves with the clock, the others with the check-ins alone.
        minute = time.time() // 60 if name == "pace" else 0
        key = (learner.id, name, kind, theme, facts.statistics.version, minute)
        drawn, colours = CHARTS[name], THEMES[theme]
        body = await portal_of(request).charts.picture(
            key, lambda: save(drawn.draw(facts, colours), kind, colours, drawn.alt(facts))
        )
    saved = f"{learner.task.name}-{name}" if "save" in request.query_params else ""
    return _picture(request, body, kind, saved)


async def spark(request: Request) -> Response:
    learner, theme, facts = learner_of(request), _theme(request), await facts_of(request)
    key = (learner.id, "spark", theme, facts.statistics.version)
    colours = THEMES[theme]
    body = await portal_of(request).charts.picture(
        key, lambda: save(draw_spark(facts, colours), "svg", colours)
    )
    return _picture(request, body, "svg")


async def hidden(request: Request) -> Response:
    """How the task's mechanism hides, at the settings in the query."""
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
    return _picture(request, await portal_of(request).hidden.picture(key, draw), "svg")


def _picture(request: Request, body: bytes, kind: str, name: str = "") -> Response:
    # A page that asks for a version reads its title first and then shows it: loaded once.
    cache = "private, max-age=60" if request.query_params.keys() & FIXED else "no-cache"
    headers = HEADERS | {"Cache-Control": cache, "Vary": "Accept-Language"}
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    if name:
        headers["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return Response(body, media_type=FORMATS[kind], headers=headers)


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _sent(request: Request, terms: Terms) -> int:
    """The place of the direction that the dial's needle points at."""
    mechanism, text = terms.mechanism(), request.query_params["sent"]
    most = mechanism.directions if isinstance(mechanism, DirectionMechanism) else 0
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most):
        raise rejected("invalid-parameter", _outside("sent", 1, most, text))
    return int(text)


def _setting(request: Request, slider: Slider) -> float:
    """Rounded as the sliders do, so that there are not endlessly many pictures to draw."""
    text = request.query_params.get(slider.name, "")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not slider.low <= value <= slider.high:
        problem = _outside(slider.name, slider.low, slider.high, text)
        raise rejected("invalid-parameter", problem)
    return float(f"{value:.{3 if slider.whole else 2}g}")


def _outside(name: str, low: float, high: float, found: str) -> Phrase:
    return Phrase(
        "{name} must lie in {low} … {high}, found {found}.",
        name=name,
        low=low,
        high=high,
        found=f"{found[:40]!r}",
    )
