"""Show an owner all tasks, and the log of owners' actions."""

from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.pages.context import service_of
from crowdml.portal.pages.owner.session import for_owner
from crowdml.portal.pages.page import render
from crowdml.portal.pages.task_listing import TaskListing
from crowdml.server.results import current_statistics

NEWEST_ACTIONS = 50
FEW_ACTIONS = 10
"""The rows of the log that are shown unfolded."""


@for_owner
async def show_dashboard(request: Request) -> Response:
    service = service_of(request)
    learners = service.registry.learners()
    listing = TaskListing.of(learners, request.query_params)
    actions = await service.run_in_reader(lambda store: store.owners.actions(most=NEWEST_ACTIONS))
    return render(
        request,
        "owner/dashboard.html",
        listing=listing,
        tasks=[(learner, current_statistics(learner)) for learner in listing.shown],
        actions=actions,
        few=FEW_ACTIONS,
        names={learner.task.name for learner in learners},
        deleted=request.query_params.get("done") == "deleted",
    )
