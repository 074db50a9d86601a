"""Creating a task: a form or a task file, a preview of what participants will see, and done."""

import math
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from crowdml.errors import InvalidInput, InvalidTask
from crowdml.portal import words
from crowdml.portal.noise_forecast import forecast
from crowdml.portal.owner.document import field_of, task_toml
from crowdml.portal.owner.fields import DEFAULTS, FIELDS, GROUPS
from crowdml.portal.owner.posted import Posted
from crowdml.portal.owner.session import for_owner, on_post
from crowdml.portal.page import render
from crowdml.portal.tasks import service_of
from crowdml.protocol import Task, terms_hash

__all__ = ["form", "preview", "submit"]

FILE, CONSENT = "toml", "not_private"
LABELS = {key: field.label for key, field in FIELDS.items()} | {
    FILE: "Task file",
    CONSENT: "I know that this task is NOT PRIVATE",
}


@for_owner
async def form(request: Request) -> Response:
    return _page(request, DEFAULTS)


@on_post
async def submit(request: Request, posted: Posted) -> Response:
    """Preview or create; what is wrong is said beside its field, and nothing typed is lost."""
    text = posted[FILE] if FILE in posted else task_toml(posted)
    service, by = service_of(request), request.state.owner.name
    try:
        task = Task.from_toml(text)
    except InvalidTask as error:
        wrong = FILE if FILE in posted else field_of(str(error))
        return _page(request, posted, str(error), wrong, status=400)
    if not task.terms.private and CONSENT not in posted:
        return _page(request, posted, UNCONFIRMED, CONSENT, status=400)
    if posted.get("do") != "create":
        taken = any(learner.task.name == task.name for learner in service.learners())
        return _page(request, posted, text=text, task=task, taken=taken)
    try:
        await service.steer(lambda store: store.create_task(task, by=by))
    except InvalidInput as error:
        return _page(request, posted, str(error), FILE if FILE in posted else "name", status=400)
    return RedirectResponse(f"/owner/tasks/{task.name}?done=created", 303)


UNCONFIRMED = (
    "privacy.epsilon = inf means that no noise is added. Tick “I know that this task is NOT "
    "PRIVATE”, or choose a finite ε."
)


def _page(
    request: Request,
    values: Posted,
    error: str = "",
    wrong: str | None = None,
    *,
    text: str = "",
    task: Task | None = None,
    taken: bool = False,
    status: int = 200,
) -> Response:
    return render(
        request,
        "owner/new.html",
        status,
        groups=GROUPS,
        values=DEFAULTS if FILE in values else values,
        file=values.get(FILE, ""),
        from_file=FILE in values,
        confirmed=CONSENT in values,
        error=error,
        wrong=wrong,
        wrong_label=LABELS.get(wrong or "", ""),
        toml=text,
        seen=preview(task) if task else None,
        taken=taken,
    )


def preview(task: Task) -> dict[str, Any]:
    """What participants will see of a task that does not exist yet, and the noise to expect."""
    terms = task.terms
    return {
        "task": task,
        "terms": terms,
        "size": terms.make_model().size,
        "level": words.level(terms),
        "five_passes": 5 * terms.epsilon_per_sample if terms.private else math.inf,
        "terms_sha256": terms_hash(terms.text),
        "forecast": forecast(task),
    }
