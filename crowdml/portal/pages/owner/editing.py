"""Edit what is not part of a task's terms, and delete a task that never started."""

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidInput, InvalidTask
from crowdml.portal.pages.context import learner_of, service_of
from crowdml.portal.pages.owner.field import sentence
from crowdml.portal.pages.owner.fields import FIELDS
from crowdml.portal.pages.owner.form_mistakes import redirect_with_mistakes
from crowdml.portal.pages.owner.form_parsing import FormFields
from crowdml.portal.pages.owner.session import on_post
from crowdml.portal.pages.owner.task_toml import field_value
from crowdml.portal.pages.page import redirect
from crowdml.portal.words import say
from crowdml.protocol import EDITABLE


@on_post
async def edit_task(request: Request, posted: FormFields) -> Response:
    """Save all changes; if one is wrong, save none and show each mistake beside its field."""
    name, by = learner_of(request).task.name, request.state.owner.name
    changes = {key: _value(key, posted[key]) for key in EDITABLE if key in posted}
    try:
        await service_of(request).change_tasks(lambda store: store.edit_task(name, changes, by=by))
    except InvalidTask as error:
        mistakes = {mistake.field: [sentence(mistake)] for mistake in error.mistakes}
        typed = {key: posted.get(key, "") for key in EDITABLE}
        return await redirect_with_mistakes(request, edits=typed, mistakes=mistakes)
    return redirect(request, f"/owner/tasks/{name}?done=edited")


def _value(key: str, text: str) -> object:
    """Read a field; an empty field is an empty text, or None for the end, which may be absent."""
    value = field_value(FIELDS[key], text)
    return "" if value is None and not key.startswith("stop.") else value


@on_post
async def delete_task(request: Request, posted: FormFields) -> Response:
    name, by = learner_of(request).task.name, request.state.owner.name
    if posted.get("confirm", "").strip() != name:
        wrong = say("To delete the task, type its name: {name}", name=name)
        return await redirect_with_mistakes(request, wrong=wrong, deleting=wrong)
    try:
        await service_of(request).change_tasks(lambda store: store.delete_task(name, by=by))
    except InvalidInput:
        wrong = say(
            "Only a task without check-ins can be deleted, and this task has some. Stop it instead."
        )
        return await redirect_with_mistakes(request, wrong=wrong)
    return redirect(request, "/owner?done=deleted")
