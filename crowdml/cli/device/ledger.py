"""Define `crowdml device ledger`: what a device has sent, and the sum over all tasks."""

from contextlib import closing
from pathlib import Path
from typing import Any

from rich.table import Table

from crowdml.cli.console import Console
from crowdml.cli.device.file import DEVICE_FILE, find_device_file
from crowdml.cli.options import JSON
from crowdml.cli.output import counted, print_json, print_lines
from crowdml.device import (
    Account,
    AccountStatement,
    DeviceStore,
    RightCount,
    default_file,
    describe_personal_accuracy,
    draw_bars,
    shares_over_time,
)
from crowdml.privacy import Ledger, Limits, Unit
from crowdml.protocol import Promise, Terms
from crowdml.visible import visible


def ledger(file: DEVICE_FILE = None, json: JSON = False) -> None:
    """Show each check-in of this device, what it cost, and the sum over all tasks."""
    folder = default_file("x").parent
    if file is None and not list(folder.glob("*.device")) and Account(folder).exists:
        device, account = {}, _statement(folder)
    else:
        path = find_device_file(file)
        device, account = _device(path, json), _statement(path.parent)
    if json:
        print_json(device | {"all_tasks": _document(account)})
    else:
        print_lines(*_over_all_tasks(account))


def _statement(folder: Path) -> AccountStatement:
    with closing(Account(folder)) as account:
        return account.statement


def _device(path: Path, json: bool) -> dict[str, Any]:
    """Return what this device sent as a document; without `json`, print it as a table."""
    with closing(DeviceStore(path)) as store:
        identity, account, answers = store.joined, store.ledger, store.answers
        tallies = store.results.tallies
    rows = list(zip(answers.items(), account.events, strict=True))
    if not json:
        table = Table("check-in", "what it sent", "ε", "for each", "answer")
        for (checkin, said), event in rows:
            cost = f"{event.loss.total:.4g}"
            table.add_row(checkin, str(event.phrase), cost, event.unit, visible(said))
        Console().print(table)
        terms = Terms.parse(identity.terms)
        print_lines(
            *_spent(account, identity.limits),
            *_lost(terms, account),
            *personal_accuracy(terms, tallies),
        )
    return {
        "task": identity.task,
        "device": identity.device,
        "epsilon": {
            "per_sample": account.epsilon_per_sample,
            "per_person": account.epsilon_per_person,
            "spent": account.epsilon_spent,
        },
        "limits": identity.limits,
        "checkins": [
            {
                "id": checkin,
                "epsilon": event.loss.total,
                "unit": event.unit,
                "samples": event.n_samples,
                "answer": said,
            }
            for (checkin, said), event in rows
        ],
    }


def _spent(account: Ledger, limits: Limits) -> list[str]:
    spent = f"Spent: ε = {account.epsilon_spent:g} of the {limits.per_device:g} that you allow."
    if all(event.unit is Unit.CHECKIN for event in account.events):
        return [spent]
    return [
        spent,
        f"Any one sample has lost at most ε = {account.epsilon_per_sample:g} of the "
        f"{limits.per_sample:g} that you allow.",
        f"You as a person have lost at most ε = {account.epsilon_per_person:g}.",
    ]


def _lost(terms: Terms, account: Ledger) -> list[str]:
    """Return what the check-ins so far can reveal."""
    if not account.events:
        return ["Nothing was sent yet."]
    promise = Promise.of(terms, 0, [event.loss for event in account.events])
    return [" ".join(map(str, promise.what_is_lost))]


def personal_accuracy(terms: Terms, tallies: list[RightCount]) -> list[str]:
    """Return how well the crowd's model works for this participant, for a terminal only.

    `--json` leaves it out, because a program could pass it on to somebody else.
    """
    said = describe_personal_accuracy(tallies, None if terms.n_classes else terms.model.tolerance)
    if said is None:
        return []
    row = f"Over time, from no sample to all: {draw_bars(shares_over_time(tallies))}"
    return [f"{said} Only this device knows the exact count.", row]


def _over_all_tasks(account: AccountStatement) -> list[str]:
    lines = ["", "Over all tasks of this folder, including tasks that you left:"]
    for (server, task), ledger in account.tasks.items():
        times = counted(len(ledger.events), "check-in")
        lines.append(f"  {task} at {server}: {times}, ε = {ledger.epsilon_spent:g}")
    lines.append(f"You as a person have lost at most ε = {account.epsilon_per_person:g}.")
    if any(entry.event.unit is Unit.SAMPLE for entry in account.entries):
        lines.append(f"One sample that all tasks used has lost ε = {account.epsilon_per_sample:g},")
        if account.n_not_followed:
            lines.append(
                "  if each task got it once. Nobody can know that for samples from standard input, "
                "topics and programs, or with --again. If the sample is in each of the "
                f"{counted(account.n_not_followed, 'check-in')} with such samples: "
                f"ε = {account.epsilon_per_sample_at_worst:g}"
            )
    return lines


def _document(account: AccountStatement) -> dict[str, Any]:
    return {
        "epsilon": {
            "per_sample": account.epsilon_per_sample,
            "per_sample_at_worst": account.epsilon_per_sample_at_worst,
            "per_person": account.epsilon_per_person,
            "spent": account.epsilon_spent,
        },
        "checkins_not_followed": account.n_not_followed,
        "tasks": [
            {
                "server": server,
                "task": task,
                "checkins": len(ledger.events),
                "epsilon": ledger.epsilon_spent,
            }
            for (server, task), ledger in account.tasks.items()
        ],
    }


def sent_before(account: AccountStatement) -> list[str]:
    """Return what was sent before, for a participant who is asked to join another task."""
    if not account.entries:
        return []
    times, tasks = counted(len(account.entries), "check-in"), counted(len(account.tasks), "task")
    return [
        f"What you sent:     {times} before, to {tasks}, as far as "
        f"this folder knows: at most ε = {account.epsilon_per_person:g} in total. What you send "
        "now adds to it."
    ]
