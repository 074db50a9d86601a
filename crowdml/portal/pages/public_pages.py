"""Serve the public pages: the list of tasks, each task, how to join it, and how privacy works."""

import io
import time

import msgspec
import segno
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crowdml.phrase import Phrase
from crowdml.portal.pages.context import (
    learner_of,
    on_loopback,
    portal_of,
    public_address_of,
    service_of,
)
from crowdml.portal.pages.description import Description
from crowdml.portal.pages.page import HEADERS, render
from crowdml.portal.pages.program import ONE_FILE_DEVICE_SHA256
from crowdml.portal.pages.task_listing import TaskListing
from crowdml.portal.pages.wheel import own_wheel
from crowdml.portal.pictures import CHARTS, DETAIL_CHARTS
from crowdml.portal.words import (
    Example,
    Performance,
    TaskNumbers,
    guess_of,
    is_quick,
    make_example,
    what_is_wrong,
)
from crowdml.protocol import (
    MECHANISMS,
    PRIVACY_LEVELS,
    USUAL_MECHANISM,
    CollectionSpec,
    Features,
    ModelTerms,
    Target,
    Terms,
    WantedPrivacy,
    rejected,
)
from crowdml.server.results import current_statistics, has_learnt, learnt_model, model_card

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
    privacy=MECHANISMS[USUAL_MECHANISM].terms.of(WantedPrivacy(4.0)),
    collection=CollectionSpec(50).terms(USUAL_MECHANISM, 3),
)
"""A task with nothing but defaults, for examples."""


async def tasks(request: Request) -> Response:
    service = service_of(request)
    listing = TaskListing.of(service.registry.learners(), request.query_params)
    cards = [(learner, current_statistics(learner)) for learner in listing.shown]
    return render(
        request, "tasks.html", cache="no-cache", listing=listing, cards=cards, guess_of=guess_of
    )


async def task(request: Request) -> Response:
    learner, numbers = learner_of(request), numbers_of(request)
    return render(
        request,
        "task.html",
        cache="no-cache",
        learner=learner,
        about=Description.of(learner),
        numbers=numbers,
        stats=numbers.statistics,
        performance=Performance(numbers),
        charts=CHARTS,
        detail_charts=DETAIL_CHARTS,
        learnt=has_learnt(learner.published),
        href=join_href(request),
        sensor_json=msgspec.json.encode(learner.task.terms.features.sensor).decode(),
        example=await _example(request),
    )


async def _example(request: Request) -> Example | None:
    """Make the worked example of the current version in a thread; None if that would be slow."""
    learner = learner_of(request)
    terms, published = learner.task.terms, learner.published
    if not is_quick(terms):
        return None
    return await portal_of(request).examples.get(
        (learner.id, published.version),
        lambda: make_example(terms, learner.terms_sha256, published.w, published.version),
    )


async def join(request: Request) -> Response:
    learner, root = learner_of(request), public_address_of(request).root(request)
    return render(
        request,
        "join.html",
        learner=learner,
        about=Description.of(learner),
        link=join_link(request),
        href=join_href(request),
        root=root,
        fingerprint=public_address_of(request).fingerprint,
        program_sha256=ONE_FILE_DEVICE_SHA256,
        wheel=await run_in_threadpool(own_wheel),
        loopback=on_loopback(request),
    )


async def join_code(request: Request) -> Response:
    """Serve the join link as a QR code."""
    learner_of(request)
    svg, code = io.BytesIO(), segno.make(join_link(request), error="m")
    code.save(svg, "svg", scale=6, border=3, dark="#000", light="#fff", xmldecl=False, nl=False)
    # The code contains the host that this visitor asked for, so caches must not share it.
    headers = HEADERS | {"Cache-Control": "no-store"}
    return Response(svg.getvalue(), media_type="image/svg+xml", headers=headers)


async def card(request: Request) -> Response:
    """Show what people should know before they use a model; 404 while nothing is learnt."""
    learner, numbers = learner_of(request), numbers_of(request)
    learnt_model(learner.published)
    return render(
        request,
        "card.html",
        cache="no-cache",
        about=Description.of(learner),
        stats=numbers.statistics,
        performance=Performance(numbers),
        wrong=what_is_wrong(learner.task),
    )


async def card_file(request: Request) -> Response:
    """Serve the model card as a Markdown file for model hubs, in English."""
    learner, builds = learner_of(request), request.app.state.builds
    text = await builds.build_once((learner.id, "card"), lambda: model_card(learner))
    saved = {"Content-Disposition": f'attachment; filename="{learner.task.name}.md"'}
    return Response(text, media_type="text/markdown", headers=HEADERS | saved)


async def privacy(request: Request) -> Response:
    return render(
        request, "privacy.html", cache="no-cache", levels=PRIVACY_LEVELS, usual=USUAL.promise
    )


def numbers_of(request: Request) -> TaskNumbers:
    """Return the current numbers behind a task's charts."""
    learner = learner_of(request)
    published = learner.published
    return TaskNumbers(
        published.task, published.statistics(learner.devices, time.time()), published.history
    )


def join_href(request: Request) -> str:
    """Return the link to the participants' page, relative to this site."""
    return public_address_of(request).link(f"/join/{request.path_params['task']}")


def join_link(request: Request) -> str:
    """Return the full address of the participants' page, for commands and QR codes."""
    if len(request.url.netloc) > LONGEST_HOST:
        raise rejected(
            "invalid-request", Phrase("a host has at most {n} characters.", n=LONGEST_HOST)
        )
    return f"{public_address_of(request).root(request)}/join/{request.path_params['task']}"


ROUTES = [
    Route("/", tasks),
    Route("/tasks/{task}", task),
    Route("/tasks/{task}/card", card),
    Route("/tasks/{task}/card.md", card_file),
    Route("/tasks/{task}/join", join),
    Route("/tasks/{task}/join.svg", join_code),
    Route("/privacy", privacy),
]
