"""Manage one task: change its state, make invites, revoke devices."""

from base64 import urlsafe_b64encode
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.portal.pages.context import learner_of, service_of
from crowdml.portal.pages.owner.form_drafts import DRAFT_NAME, new_draft_name
from crowdml.portal.pages.owner.form_mistakes import redirect_with_mistakes, stored_mistakes
from crowdml.portal.pages.owner.form_parsing import FormFields
from crowdml.portal.pages.owner.session import for_owner, on_post
from crowdml.portal.pages.owner.task_page import Invite, task_page, whole
from crowdml.portal.pages.page import redirect
from crowdml.portal.pages.public_pages import join_href, join_link
from crowdml.portal.words import count, ending, say
from crowdml.protocol import State
from crowdml.server.database import Store

MOST_USES = 1_000_000
REOPENED = (State.REACHED, State.EXHAUSTED)
"""The final states that an owner may undo."""


@for_owner
async def show_task(request: Request) -> Response:
    done = _done(request.query_params.get("done", ""))
    wrong = await stored_mistakes(request)
    return await task_page(request, done=done, invite=await _invite(request), **wrong)


def _done(what: str) -> str:
    return {
        "created": say("The task is created, and open for check-ins."),
        "edited": say("The changes are saved."),
        "paused": say("The task is paused: it takes no check-ins until you resume it."),
        "running": say("The task takes check-ins again."),
        "reopened": say("The task goes on. Its target error is now judged by new reports alone."),
        "stopped": say("The task has ended for good. Its model stays."),
        "revoked": say("The device is excluded. What it sent before stays in the model."),
    }.get(what, "")


@on_post
async def set_state(request: Request, posted: FormFields) -> Response:
    learner, wanted = learner_of(request), posted.get("state", "")
    if learner.state in REOPENED and wanted == "reopened":
        return await _change_task(
            request, lambda _: learner.reopen(request.state.owner.name), wanted
        )
    if learner.state.final:
        why = ending(learner.state, learner.version)
        wrong = say("The task has ended: {why}.", why=why)
        return await redirect_with_mistakes(request, wrong=wrong)
    if wanted == "stopped" and posted.get("confirm", "").strip() != learner.task.name:
        wrong = say("To stop the task for good, type its name: {name}", name=learner.task.name)
        return await redirect_with_mistakes(request, wrong=wrong, stopping=wrong)
    by = request.state.owner.name
    return await _change_task(
        request, lambda store: store.set_task_state(learner.task.name, wanted, by=by), wanted
    )


@on_post
async def make_invite(request: Request, posted: FormFields) -> Response:
    """Make one invite per form: the code follows from the form's number and the session.

    So the code is not stored and not in an address, but the page can show it again.
    """
    learner, by = learner_of(request), request.state.owner.name
    uses = whole(posted.get("uses", ""), MOST_USES)
    if not uses:
        found, most = posted.get("uses", "")[:40], count(MOST_USES)
        wrong = say("An invite must have 1 to {most} uses, found {n}.", most=most, n=found or "–")
        return await redirect_with_mistakes(request, wrong=wrong, uses_wrong=wrong, uses=found)
    once = _number(posted.get("once", "")) or new_draft_name()
    code = _code(request, once)
    await service_of(request).change_tasks(
        lambda store: store.invites.create(learner.id, uses, by=by, code=code)
    )
    return redirect(request, f"/owner/tasks/{learner.task.name}?invite={once}")


async def _invite(request: Request) -> Invite | None:
    """Return the invite that the address names, if it was made in this session."""
    learner, once = learner_of(request), _number(request.query_params.get("invite", ""))
    if once is None:
        return None
    code = _code(request, once)
    uses = await service_of(request).run_in_reader(
        lambda store: store.invites.uses(learner.id, code)
    )
    if uses is None:
        return None
    link, href = (f"{address(request)}#invite={code}" for address in (join_link, join_href))
    return Invite(code, uses, link, href)


def _number(text: str) -> str | None:
    return text if DRAFT_NAME.fullmatch(text) else None


def _code(request: Request, once: str) -> str:
    secret = request.state.owner.secret(f"invite {request.path_params['task']} {once}")
    return urlsafe_b64encode(secret[:9]).decode()


@on_post
async def revoke_device(request: Request, posted: FormFields) -> Response:
    learner, by = learner_of(request), request.state.owner.name
    number = whole(posted.get("device", ""), 10**12)

    def exclude(store: Store) -> None:
        found = [] if number is None else store.devices(learner.id, number, 1)
        if not found or found[0].number != number or found[0].status != "active":
            raise InvalidInput(Phrase("this task has no such active device."))
        store.set_device_status(found[0].name, "revoked", by=by)

    return await _change_task(request, exclude, "revoked")


async def _change_task(request: Request, change: Callable[[Store], None], done: str) -> Response:
    try:
        await service_of(request).change_tasks(change)
    except InvalidInput as error:
        wrong = say(error.phrase)
        return await redirect_with_mistakes(request, wrong=wrong[:1].upper() + wrong[1:])
    return redirect(request, f"/owner/tasks/{learner_of(request).task.name}?done={done}")
