"""Store the mistakes in a form of the task page on the server, so that a reload is harmless."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdml.portal.pages.context import learner_of
from crowdml.portal.pages.owner.form_drafts import new_draft_name, read_draft, save_draft
from crowdml.portal.pages.owner.form_parsing import FormFields
from crowdml.portal.pages.page import redirect

MISTAKE_DRAFT = "newest mistake"
"""The name of the one draft per owner for mistakes, which therefore never push out other drafts."""


async def redirect_with_mistakes(
    request: Request,
    *,
    edits: FormFields | None = None,
    mistakes: Mapping[str, list[str]] | None = None,
    **said: str,
) -> Response:
    """Redirect to the task page, which then shows the mistakes.

    Args:
        edits: What was typed into the form that edits the task.
        mistakes: What is wrong with it, by field.
        said: Other arguments of `task_page`.
    """
    once = new_draft_name()
    found = msgspec.json.encode({"edits": edits, "mistakes": mistakes, **said}).decode()
    await save_draft(request, MISTAKE_DRAFT, {"once": once, "found": found})
    return redirect(request, f"/owner/tasks/{learner_of(request).task.name}?wrong={once}")


async def stored_mistakes(request: Request) -> dict[str, Any]:
    """Read the mistake that the address names, as arguments of `task_page`; {} if there is none."""
    once = request.query_params.get("wrong")
    draft = await read_draft(request, MISTAKE_DRAFT) if once else None
    if draft is None or draft["once"] != once:
        return {}
    found: dict[str, Any] = msgspec.json.decode(draft["found"])
    return found
