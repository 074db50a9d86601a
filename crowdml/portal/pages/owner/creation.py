"""Create a task from a form or a task file, after a preview of what participants will see."""

import re
from collections.abc import Iterable, Iterator, Set

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.portal.pages.context import portal_of, service_of
from crowdml.portal.pages.description import Description
from crowdml.portal.pages.hardships import HARDSHIP_FIELDS, CrowdHardships
from crowdml.portal.pages.owner.field import sentence
from crowdml.portal.pages.owner.fields import DEFAULTS, FIELDS, STEPS
from crowdml.portal.pages.owner.form_drafts import (
    delete_draft,
    draft_name,
    new_draft_name,
    read_draft,
    save_draft,
)
from crowdml.portal.pages.owner.form_parsing import FormFields, read_upload
from crowdml.portal.pages.owner.pilot import ERROR_FIELD, FILE_FIELD, Pilot, fill_in, with_findings
from crowdml.portal.pages.owner.session import for_owner, on_post
from crowdml.portal.pages.owner.task_toml import task_toml
from crowdml.portal.pages.page import redirect, render
from crowdml.portal.pages.planner import Forecast
from crowdml.portal.words import advice
from crowdml.privacy import PRIVATE_UP_TO
from crowdml.protocol import (
    MECHANISMS,
    MISSING,
    FieldRule,
    Task,
    field_rule,
    name_is_taken,
    recommended_fields,
    set_fields,
)

PLAN_SETTINGS = re.compile(r"([\w-]+) (\d{1,9}) (\d{1,9}) (\d{1,9})", re.ASCII)
"""The settings of a plan: mechanism, batch, check-ins per device, devices."""

TOML_FIELD, NOT_PRIVATE_FIELD = "toml", "not_private"
FIELD_LABELS = {key: field.label for key, field in FIELDS.items()} | {
    TOML_FIELD: "Task file (TOML)",
    FILE_FIELD: "Samples that you have",
    "model.start": "Samples that you have",
    NOT_PRIVATE_FIELD: "I know that this task is NOT PRIVATE",
}


RESULT_BUTTONS = {"preview", "plan", "create"}
"""The buttons whose result an address may show below the form."""


@for_owner
async def show_form(request: Request) -> Response:
    """Show the form as it was last sent, with its result; reloading the page changes nothing."""
    name, result = draft_name(request), request.query_params.get("see")
    if name is None:
        return redirect(request, f"/owner/new?draft={new_draft_name()}")
    posted = await read_draft(request, name)
    if posted is None:
        return _page(request, DEFAULTS | {"owner": request.state.owner.name})
    try:
        pilot = Pilot.of(posted)
        if result not in RESULT_BUTTONS:
            return _page(request, posted, pilot=pilot)
        text, task = _read(request, posted, pilot)
    except InvalidTask as error:
        return _page(request, posted, error.mistakes, pilot=_pilot_if_any(posted))
    forecast = None
    if result == "plan" and not task.terms.promise.exact and not pilot:
        planner, hardships = portal_of(request).planner, CrowdHardships.of(posted)
        forecast = await planner.plan(task, text, service_of(request).closing, hardships)
    return _page(request, posted, text=text, task=task, forecast=forecast, pilot=pilot)


@on_post
async def submit_form(request: Request, posted: FormFields) -> Response:
    """Create the task if it has no mistakes; otherwise keep what was typed, and show them."""
    by, name = request.state.owner.name, draft_name(request) or new_draft_name()
    do = posted.pop("do", "preview")
    try:
        posted = with_findings(_with_plan(posted), await read_draft(request, name))
        if do == "create":
            text, task = _read(request, posted, Pilot.of(posted))
            await service_of(request).change_tasks(lambda store: store.create_task(task, by=by))
            portal_of(request).planner.remember(task.name, text, CrowdHardships.of(posted))
            await delete_draft(request, name)
            return redirect(request, f"/owner/tasks/{task.name}?done=created")
    except InvalidTask:
        pass  # the next page shows the mistakes
    await save_draft(request, name, posted)
    result = do if do in RESULT_BUTTONS else "preview"
    return redirect(request, f"/owner/new?draft={name}&see={result}")


def _read(request: Request, posted: FormFields, pilot: Pilot | None) -> tuple[str, Task]:
    """Read a form as a task file and a task; `InvalidTask` lists what is wrong."""
    names = {learner.task.name for learner in service_of(request).registry.learners()}
    text = posted[TOML_FIELD] if TOML_FIELD in posted else task_toml(posted)
    if pilot:
        text = pilot.named_in(text, posted.get("name", ""))
    rules = _rules(names, confirmed=NOT_PRIVATE_FIELD in posted)
    return text, Task.from_toml(text, *rules, start=pilot.start if pilot else None)


async def _upload(request: Request, posted: FormFields) -> Response:
    """Fill in the form from a pilot, or explain beside the file why that failed; lose no field."""
    name = draft_name(request) or new_draft_name()
    await save_draft(request, name, await fill_in(request, posted))
    return redirect(request, f"/owner/new?draft={name}")


upload = on_post(_upload, read_upload)


def _with_plan(posted: FormFields) -> FormFields:
    """Put the recommended settings that `use` names into the form or the task file."""
    found = PLAN_SETTINGS.fullmatch(posted.get("use", ""))
    if not found or found[1] not in MECHANISMS:
        return posted
    fields = recommended_fields(found[1], int(found[2]), int(found[3]), int(found[4]))
    if TOML_FIELD in posted:
        return posted | {TOML_FIELD: set_fields(posted[TOML_FIELD], fields)}
    return posted | {key: "" if value is None else str(value) for key, value in fields.items()}


def _rules(names: Set[str], confirmed: bool) -> tuple[FieldRule, ...]:
    """Return the rules that only a form has, and a task file does not."""

    @field_rule("name")
    def name_is_new(name: str) -> Iterator[Mistake]:
        if name in names:
            yield name_is_taken(name)

    @field_rule("privacy.epsilon")
    def no_privacy_is_meant(epsilon: float) -> Iterator[Mistake]:
        if epsilon > PRIVATE_UP_TO and not confirmed:
            must = Phrase(
                "must be ticked where ε is above {n}, for then nothing is protected",
                n=PRIVATE_UP_TO,
            )
            yield Mistake(NOT_PRIVATE_FIELD, must, remedy=Phrase("Tick it, or choose a smaller ε."))

    return name_is_new, no_privacy_is_meant


def _page(
    request: Request,
    values: FormFields,
    mistakes: Iterable[Mistake] = (),
    *,
    text: str = "",
    task: Task | None = None,
    forecast: Forecast | None = None,
    pilot: Pilot | None = None,
) -> Response:
    from_file = TOML_FIELD in values
    wrong = _by_file(mistakes) if from_file else _by_field(mistakes)
    if values.get(ERROR_FIELD):
        wrong = {FILE_FIELD: [values[ERROR_FIELD]]} | wrong
    return render(
        request,
        "owner/new.html",
        draft=draft_name(request),
        steps=STEPS,
        values=DEFAULTS if from_file else values,
        hardships=HARDSHIP_FIELDS,
        hard={field.key: values.get(field.key, "") for field in HARDSHIP_FIELDS},
        file=values.get(TOML_FIELD, ""),
        from_file=from_file,
        confirmed=NOT_PRIVATE_FIELD in values,
        private_up_to=PRIVATE_UP_TO,
        labels=FIELD_LABELS,
        wrong=wrong,
        first=next(iter(wrong), None),
        toml=text,
        about=Description(task, task.terms.text) if task else None,
        advice=advice(task) if task else None,
        forecast=forecast,
        pilot=pilot,
    )


def _pilot_if_any(posted: FormFields) -> Pilot | None:
    try:
        return Pilot.of(posted)
    except InvalidTask:
        return None


def _by_field(mistakes: Iterable[Mistake]) -> dict[str, list[str]]:
    """Sort mistakes by their field, in the order of the page."""
    order = {key: rank for rank, key in enumerate(FIELDS)}
    order |= {FILE_FIELD: -1, "model.start": -1, NOT_PRIVATE_FIELD: order["privacy.directions"]}
    in_order = sorted(mistakes, key=lambda mistake: order[mistake.field])
    missing = {mistake.field for mistake in in_order if mistake.rule == MISSING}
    if {"name", "title"} <= missing:  # there is no field for the name, which is made from the title
        in_order = [mistake for mistake in in_order if mistake.field != "name"]
    return {mistake.field: [sentence(mistake)] for mistake in in_order}


def _by_file(mistakes: Iterable[Mistake]) -> dict[str, list[str]]:
    """Sort mistakes of a task file: into its text field, or beside the box to tick."""
    wrong: dict[str, list[str]] = {}
    for mistake in mistakes:
        if mistake.field == NOT_PRIVATE_FIELD:
            wrong.setdefault(NOT_PRIVATE_FIELD, []).append(sentence(mistake))
        else:
            wrong.setdefault(TOML_FIELD, []).append(sentence(mistake, mistake.field))
    return wrong
