"""Creating a task: a form or a task file, a preview of what participants will see, and done."""

from collections.abc import Iterable, Iterator, Set

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.portal.consent import Consent
from crowdml.portal.context import portal_of, service_of
from crowdml.portal.description import Description
from crowdml.portal.owner.advice import advice
from crowdml.portal.owner.document import task_toml
from crowdml.portal.owner.fields import DEFAULTS, FIELDS, STEPS
from crowdml.portal.owner.posted import Posted
from crowdml.portal.owner.sentence import sentence
from crowdml.portal.owner.session import for_owner, on_post
from crowdml.portal.page import redirect, render
from crowdml.portal.planner import Forecast
from crowdml.privacy import PRIVATE_UP_TO
from crowdml.protocol import Rule, Task, name_is_taken, rule

__all__ = ["form", "submit"]

FILE, CONSENT = "toml", "not_private"
LABELS = {key: field.label for key, field in FIELDS.items()} | {
    FILE: "Task file (TOML)",
    CONSENT: "I know that this task is NOT PRIVATE",
}


@for_owner
async def form(request: Request) -> Response:
    return _page(request, DEFAULTS | {"owner": request.state.owner.name})


@on_post
async def submit(request: Request, posted: Posted) -> Response:
    """Preview, plan or create; what is wrong is said beside its field, and nothing is lost."""
    if "use" in posted:
        posted = _with_plan(posted)
    text = posted[FILE] if FILE in posted else task_toml(posted)
    service, by = service_of(request), request.state.owner.name
    names = {learner.task.name for learner in service.learners()}
    try:
        task = Task.from_toml(text, *_rules(names, confirmed=CONSENT in posted))
        if posted.get("do") == "create":
            await service.steer(lambda store: store.create_task(task, by=by))
            return redirect(request, f"/owner/tasks/{task.name}?done=created")
    except InvalidTask as error:
        return _page(request, posted, error.mistakes, status=400)
    forecast = None
    if posted.get("do") == "plan" and not task.terms.promise.exact:
        forecast = await portal_of(request).planner.plan(task, text, service.closing)
    return _page(request, posted, text=text, task=task, forecast=forecast)


def _with_plan(posted: Posted) -> Posted:
    """The form with the settings that the plan has recommended."""
    mechanism, batch, checkins, *_ = [*posted["use"].split(), "", "", ""]
    devices = _number(posted, "stop.updates", 1000) / _number(posted, "collection.checkins", 1)
    changes = {"privacy.mechanism": mechanism, "collection.batch": batch, "collection.buffer": ""}
    if mechanism == "direction":
        gone = ("privacy.epsilon_e", "privacy.epsilon_y", "privacy.delta", "collection.heldout",
                "model.clip")  # fmt: skip
        changes |= dict.fromkeys(gone, "")
        changes["collection.checkins"] = checkins
    updates = round(devices * (int(checkins) if checkins.isdecimal() else 1))
    return posted | changes | {"stop.updates": str(updates)}


def _number(posted: Posted, key: str, default: int) -> int:
    text = posted.get(key, "").strip()
    return max(1, int(text)) if text.isdecimal() and len(text) < 13 else default


def _rules(names: Set[str], confirmed: bool) -> tuple[Rule, ...]:
    """What the form asks besides what is asked of any task file."""

    @rule("name")
    def name_is_new(name: str) -> Iterator[Mistake]:
        if name in names:
            yield name_is_taken(name)

    @rule("privacy.epsilon")
    def no_privacy_is_meant(epsilon: float) -> Iterator[Mistake]:
        if epsilon > PRIVATE_UP_TO and not confirmed:
            must = Phrase(
                "must be ticked where ε is above {n}, for then nothing is protected",
                n=PRIVATE_UP_TO,
            )
            yield Mistake(CONSENT, must, remedy=Phrase("Tick it, or choose a smaller ε."))

    return name_is_new, no_privacy_is_meant


def _page(
    request: Request,
    values: Posted,
    mistakes: Iterable[Mistake] = (),
    *,
    text: str = "",
    task: Task | None = None,
    forecast: Forecast | None = None,
    status: int = 200,
) -> Response:
    from_file = FILE in values
    wrong = _by_file(mistakes) if from_file else _by_field(mistakes)
    return render(
        request,
        "owner/new.html",
        status,
        steps=STEPS,
        values=DEFAULTS if from_file else values,
        file=values.get(FILE, ""),
        from_file=from_file,
        confirmed=CONSENT in values,
        labels=LABELS,
        wrong=wrong,
        first=next(iter(wrong), None),
        toml=text,
        about=Description(task, task.terms.text) if task else None,
        consent=Consent(task.terms) if task else None,
        advice=advice(task) if task else None,
        forecast=forecast,
    )


def _by_field(mistakes: Iterable[Mistake]) -> dict[str, list[str]]:
    """What is wrong, by the input that it is about, in the order of the page."""
    order = {key: place for place, key in enumerate(FIELDS)}
    order[CONSENT] = order["privacy.directions"]
    in_order = sorted(mistakes, key=lambda mistake: order[mistake.field])
    return {mistake.field: [sentence(mistake)] for mistake in in_order}


def _by_file(mistakes: Iterable[Mistake]) -> dict[str, list[str]]:
    """The same for a task file, which is one input; a box to tick is another."""
    wrong: dict[str, list[str]] = {}
    for mistake in mistakes:
        key, name = (CONSENT, None) if mistake.field == CONSENT else (FILE, mistake.field)
        wrong.setdefault(key, []).append(sentence(mistake, name))
    return wrong
