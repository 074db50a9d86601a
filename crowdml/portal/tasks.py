"""The public pages: tasks, one task, joining it, and how privacy works here."""

from urllib.parse import urlsplit

import msgspec
import segno
from starlette.requests import Request
from starlette.responses import Response

from crowdml.phrase import Phrase
from crowdml.portal.charts import CHARTS, CURIOUS
from crowdml.portal.consent import Consent
from crowdml.portal.context import front_of, learner_of, portal_of, service_of
from crowdml.portal.description import Description
from crowdml.portal.example import Example, is_quick, make_example
from crowdml.portal.facts import Facts
from crowdml.portal.listing import Listing
from crowdml.portal.page import HEADERS, render
from crowdml.portal.performance import Performance, guess_of, newest
from crowdml.portal.program import PROGRAM_SHA256
from crowdml.protocol import (
    LEVELS,
    CollectionSpec,
    DirectionTerms,
    Features,
    ModelTerms,
    Terms,
    Wanted,
    rejected,
)
from crowdml.protocol.terms import Target
from crowdml.server import reports
from crowdml.server.card import model_card

__all__ = ["card", "facts_of", "join", "join_code", "join_link", "privacy", "task", "tasks"]

LONGEST_HOST = 255

USUAL = Terms(
    task="usual",
    owner="-",
    contact="-",
    purpose="-",
    sensors="-",
    features=Features(1),
    target=Target(("a", "b", "c")),
    model=ModelTerms("softmax"),
    privacy=DirectionTerms.of(Wanted(4.0)),
    collection=CollectionSpec(50).terms("direction", 3),
)
"""A task with nothing but defaults, for examples."""


async def tasks(request: Request) -> Response:
    service = service_of(request)
    listing = Listing.of(service.learners(), request.query_params)
    statistics = await service.in_store_thread(
        lambda: [reports.statistics(learner) for learner in listing.shown]
    )
    cards = list(zip(listing.shown, statistics, strict=True))
    return render(
        request, "tasks.html", cache="no-cache", listing=listing, cards=cards, guess_of=guess_of
    )


async def task(request: Request) -> Response:
    learner, facts = learner_of(request), await facts_of(request)
    return render(
        request,
        "task.html",
        cache="no-cache",
        learner=learner,
        about=Description.of(learner),
        facts=facts,
        stats=facts.statistics,
        performance=Performance(facts),
        newest=newest,
        charts=CHARTS,
        curious=CURIOUS,
        sensor_json=msgspec.json.encode(learner.task.terms.features.sensor).decode(),
        example=await _example(request),
    )


async def _example(request: Request) -> Example | None:
    """Made anew for each version, off the event loop; None where it would take long."""
    learner = learner_of(request)
    terms, now = learner.task.terms, learner.published
    if not is_quick(terms):
        return None
    return await portal_of(request).examples.picture(
        (learner.id, now.version),
        lambda: make_example(terms, learner.terms_sha256, now.w, now.version),
    )


async def join(request: Request) -> Response:
    learner, root = learner_of(request), front_of(request).root(request)
    return render(
        request,
        "join.html",
        learner=learner,
        about=Description.of(learner),
        consent=Consent(learner.task.terms),
        link=join_link(request),
        root=root,
        fingerprint=front_of(request).fingerprint,
        program_sha256=PROGRAM_SHA256,
        loopback=urlsplit(root).hostname in ("localhost", "127.0.0.1", "::1"),
    )


async def join_code(request: Request) -> Response:
    """The join link as a QR code."""
    learner_of(request)
    code = segno.make(join_link(request), error="m")
    svg = code.svg_inline(scale=6, border=3, dark="#000", light="#fff").encode()
    headers = HEADERS | {"Cache-Control": "no-cache"}
    return Response(_standalone(svg), media_type="image/svg+xml", headers=headers)


async def card(request: Request) -> Response:
    """The model card: a file for hubs, in English."""
    learner = learner_of(request)
    text = await service_of(request).in_store_thread(lambda: model_card(learner))
    headers = HEADERS | {"Cache-Control": "no-cache"}
    return Response(text, media_type="text/markdown", headers=headers)


async def privacy(request: Request) -> Response:
    usual = USUAL.promise
    return render(request, "privacy.html", cache="no-cache", levels=LEVELS, usual=usual)


async def facts_of(request: Request) -> Facts:
    """The numbers behind a task's charts, as of now."""
    learner = learner_of(request)
    return await service_of(request).in_store_thread(
        lambda: Facts(learner.task, reports.statistics(learner), reports.course(learner))
    )


def join_link(request: Request) -> str:
    if len(request.url.netloc) > LONGEST_HOST:
        raise rejected(
            "invalid-request", Phrase("a host has at most {n} characters.", n=LONGEST_HOST)
        )
    return f"{front_of(request).root(request)}/join/{request.path_params['task']}"


def _standalone(svg: bytes) -> bytes:
    """segno's inline form has no namespace, which a picture of its own needs."""
    return svg.replace(b"<svg ", b'<svg xmlns="http://www.w3.org/2000/svg" ', 1)
