"""crowdml device ledger: all that was told, by this device and by all of its participant's."""

from contextlib import closing
from pathlib import Path
from typing import Any

from rich.table import Table

from crowdml.cli.device_file import FILE, find
from crowdml.cli.options import JSON
from crowdml.cli.output import Console, print_json, say
from crowdml.device import DeviceStore, default_file
from crowdml.device.account import Account, Statement
from crowdml.errors import DeviceError
from crowdml.privacy import CheckinEvent, DirectionEvent, Ledger, Limits, Role, Unit
from crowdml.protocol import Terms
from crowdml.visible import visible

__all__ = ["ledger", "told_before"]

SENT = {
    Role.TRAIN: "a direction for the model",
    Role.EVALUATE: "right or wrong about one sample",
    Role.COUNT: "the answer of one sample",
}


def ledger(file: FILE = None, json: JSON = False) -> None:
    """Show everything this device has told, what it cost, and the sum over all tasks."""
    folder = default_file("x").parent
    if file is None and not list(folder.glob("*.device")) and Account(folder).exists:
        device, account = {}, _statement(folder)
    else:
        path = find(file)
        device, account = _device(path, json), _statement(path.parent)
    if json:
        print_json(device | {"all_tasks": _document(account)})
    else:
        say(*_over_all_tasks(account))


def _statement(folder: Path) -> Statement:
    with closing(Account(folder)) as account:
        return account.statement


def _device(path: Path, json: bool) -> dict[str, Any]:
    """What this device told: as a document, or else as a table on the terminal."""
    with closing(DeviceStore(path)) as store:
        identity, account, answers = store.identity, store.ledger, store.answers
    if identity is None:
        raise DeviceError(f"{path} has not joined a task. Join one first.")
    told = list(zip(answers.items(), account.events, strict=True))
    if not json:
        table = Table("check-in", "what it told", "ε", "for each", "answer")
        for (letter, said), event in told:
            cost = f"{event.loss.total:.4g}"
            table.add_row(letter, _told(event), cost, event.unit, visible(said))
        Console().print(table)
        say(*_in_all(account, identity.limits), *_readings(Terms.parse(identity.terms)))
    return {
        "task": identity.task,
        "epsilon": {
            "per_sample": account.per_sample,
            "per_device": account.per_device,
            "whole_device": account.whole_device,
        },
        "limits": identity.limits,
        "checkins": [
            {
                "id": letter,
                "epsilon": event.loss.total,
                "unit": event.unit,
                "samples": None if isinstance(event, DirectionEvent) else event.n_samples,
                "answer": said,
            }
            for (letter, said), event in told
        ],
    }


def _told(event: CheckinEvent) -> str:
    if isinstance(event, DirectionEvent):
        return SENT[event.role]
    parts = [release.what for release in event.releases]
    return f"{', '.join(parts)} of {event.n_samples} samples, with noise"


def _in_all(account: Ledger, limits: Limits) -> list[str]:
    if all(event.unit is Unit.CHECKIN for event in account.events):
        return [
            f"Whatever you contributed, in all: ε = {account.whole_device:g} "
            f"of {limits.per_device:g}."
        ]
    return [
        f"any one sample, given once: ε = {account.per_sample:g} of {limits.per_sample:g}",
        f"all check-ins: ε = {account.per_device:g} of {limits.per_device:g}",
        f"everything at once: at most ε = {account.whole_device:g} "
        "(the promise is for samples, not for the whole person)",
    ]


def _readings(terms: Terms) -> list[str]:
    if terms.shared == 1 or terms.epsilon_in_all:
        return []
    return [
        f"any one reading: at most ε = {terms.epsilon_per_reading:g}, as it is in up to "
        f"{terms.shared} samples"
    ]


def _over_all_tasks(account: Statement) -> list[str]:
    lines = ["", "Over all tasks that this folder knows of, left ones too:"]
    for (server, task), told in account.tasks.items():
        times = len(told.events)
        lines.append(f"  {task} at {server}: {times} check-ins, ε = {told.per_device:g}")
    lines.append(f"whatever you contributed, in all: at most ε = {account.whole_person:g}")
    if any(told.event.unit is Unit.SAMPLE for told in account.told):
        lines.append(f"one sample that all tasks used: ε = {account.per_sample:g}")
        if account.n_not_followed:
            lines.append(
                "  if it was given once to each. Of what comes from standard input, topics and "
                "programs, or with --again, that cannot be known. If it is in all "
                f"{account.n_not_followed} check-ins of such samples: "
                f"ε = {account.per_sample_at_worst:g}"
            )
    return lines


def _document(account: Statement) -> dict[str, Any]:
    return {
        "epsilon": {
            "per_sample": account.per_sample,
            "per_sample_at_worst": account.per_sample_at_worst,
            "per_device": account.per_device,
            "whole_person": account.whole_person,
        },
        "checkins_not_followed": account.n_not_followed,
        "tasks": [
            {
                "server": server,
                "task": task,
                "checkins": len(told.events),
                "epsilon": told.per_device,
            }
            for (server, task), told in account.tasks.items()
        ],
    }


def told_before(account: Statement) -> list[str]:
    """For whoever is asked to tell more."""
    if not account.told:
        return []
    times = len(account.told)
    return [
        f"What you told:     {times} check-ins before, to {len(account.tasks)} tasks, as far as "
        f"this folder knows: in all at most ε = {account.whole_person:g}. What you tell now adds "
        "to it."
    ]
