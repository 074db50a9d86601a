"""One task in its owner's hands: state, invites, devices, the model."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from crowdml.errors import InvalidInput
from crowdml.portal.context import learner_of, service_of
from crowdml.portal.owner.posted import Posted
from crowdml.portal.owner.session import for_owner, on_post
from crowdml.portal.page import redirect, render
from crowdml.protocol import State
from crowdml.server import reports
from crowdml.server.accounts import Action
from crowdml.server.export import EXPORTS
from crowdml.server.learner import Learner
from crowdml.server.store import Store

__all__ = ["invite", "revoke", "set_state", "task"]

PER_PAGE = 100
NEWEST = 50
MOST_USES = 1_000_000
DONE = {
    "created": "The task is created, and open for check-ins.",
    "paused": "The task is paused: it takes no check-ins until you resume it.",
    "running": "The task takes check-ins again.",
    "reopened": "The task goes on. What was reported of its error before counts no more.",
    "stopped": "The task has ended for good. Its model stays.",
    "revoked": "The device is excluded. What it sent before stays in the model.",
}


@for_owner
async def task(request: Request) -> Response:
    return await _page(request, done=DONE.get(request.query_params.get("done", ""), ""))


@on_post
async def set_state(request: Request, posted: Posted) -> Response:
    learner, state = learner_of(request), posted.get("state", "")
    if learner.state is State.REACHED and state == "reopened":
        return await _steer(request, lambda _: learner.reopen(request.state.owner.name), state)
    if learner.state.final:
        return await _page(request, wrong=f"The task has ended: {learner.state}.", status=409)
    if state == "stopped" and posted.get("confirm", "").strip() != learner.task.name:
        wrong = f"To stop the task for good, type its name: {learner.task.name}"
        return await _page(request, wrong=wrong, stopping=True, status=400)
    by = request.state.owner.name
    return await _steer(
        request, lambda store: store.set_task_state(learner.task.name, state, by=by), state
    )


@on_post
async def invite(request: Request, posted: Posted) -> Response:
    """The answer itself shows the code, this once: it is stored nowhere and in no address."""
    learner, by = learner_of(request), request.state.owner.name
    uses = _whole(posted.get("uses", ""), MOST_USES)
    if not uses:
        wrong = f"An invite must have 1 to {MOST_USES:,} uses, found {posted.get('uses', '')[:40]}."
        return await _page(request, wrong=wrong, status=400)
    code = await service_of(request).steer(
        lambda store: store.create_invite(learner.id, uses, by=by)
    )
    return await _page(request, code=code, uses=uses)


@on_post
async def revoke(request: Request, posted: Posted) -> Response:
    learner, by = learner_of(request), request.state.owner.name
    number = _whole(posted.get("device", ""), 10**12)

    def exclude(store: Store) -> None:
        found = [] if number is None else store.devices(learner.id, number, 1)
        if not found or found[0].number != number or found[0].status != "active":
            raise InvalidInput("this task has no such active device.")
        store.set_device_status(found[0].name, "revoked", by=by)

    return await _steer(request, exclude, "revoked")


async def _steer(request: Request, change: Callable[[Store], None], done: str) -> Response:
    try:
        await service_of(request).steer(change)
    except InvalidInput as error:
        return await _page(request, wrong=str(error)[:1].upper() + str(error)[1:], status=400)
    return redirect(request, f"/owner/tasks/{learner_of(request).task.name}?done={done}")


async def _page(
    request: Request,
    *,
    done: str = "",
    wrong: str = "",
    code: str = "",
    uses: int = 1,
    stopping: bool = False,
    status: int = 200,
) -> Response:
    learner, service = learner_of(request), service_of(request)
    first = _whole(request.query_params.get("from", "0"), 10**12) or 0
    statistics = await service.in_store_thread(lambda: reports.statistics(learner))
    devices = await service.in_store(
        lambda store: reports.devices(store, learner.id, first, PER_PAGE + 1)
    )
    actions, invited = await service.in_store(lambda store: _records(store, learner))
    return render(
        request,
        "owner/task.html",
        status,
        learner=learner,
        task=learner.task,
        stats=statistics,
        devices=devices[:PER_PAGE],
        first=first,
        before=max(first - PER_PAGE, 0) if first else None,
        after=devices[PER_PAGE][0].number if len(devices) > PER_PAGE else None,
        invited=invited,
        actions=actions,
        exports=list(EXPORTS),
        done=done,
        wrong=wrong,
        code=code,
        uses=uses,
        stopping=stopping,
    )


def _records(store: Store, learner: Learner) -> tuple[list[Action], int]:
    actions = store.accounts.actions(learner.task.name, NEWEST)
    return actions, store.count_invites(learner.id)


def _whole(text: str, most: int) -> int | None:
    """
    >>> _whole("12", 100), _whole("-1", 100), _whole("101", 100), _whole("²", 100)
    (12, None, None, None)
    """
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        return None
    return int(text) if int(text) <= most else None
