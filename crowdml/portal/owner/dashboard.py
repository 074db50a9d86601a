"""The owner's first page: all tasks and what was done with them."""

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.context import service_of
from crowdml.portal.listing import Listing
from crowdml.portal.owner.session import for_owner
from crowdml.portal.page import render
from crowdml.server import reports

__all__ = ["dashboard"]

NEWEST = 50


@for_owner
async def dashboard(request: Request) -> Response:
    service = service_of(request)
    learners = service.learners()
    listing = Listing.of(learners, request.query_params)
    statistics = await service.in_store_thread(
        lambda: [reports.statistics(learner) for learner in listing.shown]
    )
    actions = await service.in_store(lambda store: store.accounts.actions(most=NEWEST))
    return render(
        request,
        "owner/dashboard.html",
        listing=listing,
        tasks=list(zip(listing.shown, statistics, strict=True)),
        actions=actions,
        names={learner.task.name for learner in learners},
        deleted=request.query_params.get("done") == "deleted",
    )
