"""Editing a task, as far as it is in no terms, and deleting one that never started."""

import tomllib

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidInput, InvalidTask
from crowdml.portal.context import learner_of, service_of
from crowdml.portal.language import say
from crowdml.portal.owner.document import toml_value
from crowdml.portal.owner.fields import FIELDS
from crowdml.portal.owner.posted import Posted
from crowdml.portal.owner.sentence import sentence
from crowdml.portal.owner.session import on_post
from crowdml.portal.owner.task_page import task_page
from crowdml.portal.page import redirect
from crowdml.protocol import EDITABLE

__all__ = ["delete", "edit"]


@on_post
async def edit(request: Request, posted: Posted) -> Response:
    """Everything or nothing; what is wrong is said beside its field."""
    name, by = learner_of(request).task.name, request.state.owner.name
    changes = {key: _value(key, posted[key]) for key in EDITABLE if key in posted}
    try:
        await service_of(request).steer(lambda store: store.edit_task(name, changes, by=by))
    except InvalidTask as error:
        mistakes = {mistake.field: [sentence(mistake)] for mistake in error.mistakes}
        typed = {key: posted.get(key, "") for key in EDITABLE}
        return await task_page(request, 400, edits=typed, mistakes=mistakes)
    return redirect(request, f"/owner/tasks/{name}?done=edited")


def _value(key: str, text: str) -> object:
    """As a task file would say it."""
    value = toml_value(FIELDS[key], text)
    if value is None:
        return None if key.startswith("stop.") else ""
    return tomllib.loads(f"value = {value}")["value"]


@on_post
async def delete(request: Request, posted: Posted) -> Response:
    name, by = learner_of(request).task.name, request.state.owner.name
    if posted.get("confirm", "").strip() != name:
        wrong = say("To delete the task, type its name: {name}", name=name)
        return await task_page(request, 400, wrong=wrong, deleting=wrong)
    try:
        await service_of(request).steer(lambda store: store.delete_task(name, by=by))
    except InvalidInput:
        wrong = say("Only a task without check-ins can be deleted, and this one has some. Stop it.")
        return await task_page(request, 409, wrong=wrong)
    return redirect(request, "/owner?done=deleted")
