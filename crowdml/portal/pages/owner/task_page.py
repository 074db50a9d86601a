"""Show a task to its owner."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import segno
from starlette.requests import Request
from starlette.responses import Response

from crowdml.learnt import MODEL_FORMATS
from crowdml.portal.pages.context import learner_of, portal_of, service_of
from crowdml.portal.pages.owner.device_listing import DeviceListing
from crowdml.portal.pages.owner.fields import FIELDS
from crowdml.portal.pages.owner.form_drafts import new_draft_name
from crowdml.portal.pages.page import render
from crowdml.portal.pages.public_pages import join_href, join_link, numbers_of
from crowdml.portal.pictures import CHARTS
from crowdml.portal.words import Outlook
from crowdml.protocol import EDITABLE, Task
from crowdml.server.results import crowded_joins

NEWEST_ACTIONS = 50
FEW_ACTIONS = 10
"""The rows of the log that are shown unfolded."""


class Invite(NamedTuple):
    """Hold an invite: its code, its uses, its link as text and as an address, and its QR code.

    The code is in the fragment of the link, which browsers do not send.
    """

    code: str
    uses: int
    link: str
    href: str

    @property
    def picture(self) -> str:
        code = segno.make(self.link, error="m")
        return code.svg_data_uri(scale=6, border=3, dark="#000", light="#fff")


async def task_page(
    request: Request,
    *,
    edits: Mapping[str, str] | None = None,
    mistakes: Mapping[str, list[str]] | None = None,
    **said: Any,
) -> Response:
    """Render the page, with the result of the form that was sent last.

    Args:
        edits: What was typed into the form that edits the task, if something is wrong with it.
        mistakes: What is wrong with it, by field.
        said: `done`, `wrong`, `stopping`, `deleting`, `uses_wrong` in words; `invite`; the
            `uses` that were typed.
    """
    learner, service = learner_of(request), service_of(request)
    numbers = numbers_of(request)
    statistics = numbers.statistics
    devices, actions, invited, crowded = await service.run_in_reader(
        lambda store: (
            DeviceListing.of(store, learner.id, request.query_params),
            store.owners.actions(learner.task.name, NEWEST_ACTIONS),
            store.invites.count(learner.id),
            crowded_joins(store, learner.id),
        )
    )
    nothing = dict.fromkeys(("done", "wrong", "stopping", "deleting", "uses_wrong"), "")
    return render(
        request,
        "owner/task.html",
        learner=learner,
        task=learner.task,
        stats=statistics,
        numbers=numbers,
        outlook=Outlook.of(numbers, invited),
        forecast=portal_of(request).planner.known.get(learner.task.name),
        error_chart=CHARTS["error"],
        devices=devices,
        invited=invited,
        crowded=crowded,
        actions=actions,
        few=FEW_ACTIONS,
        exports=list(MODEL_FORMATS) if learner.published.version else [],
        link=join_link(request),
        href=join_href(request),
        editable=[FIELDS[key] for key in EDITABLE if key[:5] != "stop." or not statistics.version],
        labels={key: FIELDS[key].label for key in EDITABLE},
        once=new_draft_name(),
        edits=edits or _written(learner.task),
        mistakes=mistakes or {},
        **{"invite": None, "uses": "1"} | nothing | said,
    )


def _written(task: Task) -> dict[str, str]:
    updates, error = task.stop.updates, task.stop.error
    return {
        "title": task.title,
        "objective": task.objective,
        "stop.updates": "" if updates is None else str(updates),
        "stop.error": "" if error is None else f"{error:g}",
    }


def whole(text: str, most: int) -> int | None:
    """Read a whole number from 0 to `most`; None for anything else.

    >>> whole("12", 100), whole("-1", 100), whole("101", 100), whole("²", 100)
    (12, None, None, None)
    """
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        return None
    return int(text) if int(text) <= most else None
