"""Read the table of behaviour, and compute what a cell of it expects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "behaviour.json").read_text(encoding="utf-8")
)
STATES: dict[str, Any] = TABLE["states"]
EVENTS: dict[str, str] = TABLE["events"]
LATER = {"another process left", "terms agreed", "limit raised", "start again", "leave"}
ANSWERS = [event for event in EVENTS if event not in {"sample", *LATER}]
STANDING_FOR_ALL = ("applied", "revoked")


class Seen(NamedTuple):
    """Describe the state of a device."""

    state: str
    samples: int
    outbox: bytes | None
    ledger: int


class Expected(NamedTuple):
    """Describe what a cell expects."""

    seen: Seen
    sent: list[str]
    again: str


def cells(part: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield every event of a part of the table, with its row."""
    for row, events in part.items():
        for event in events:
            if event == "every answer":
                yield from ((answer, row) for answer in ANSWERS)
            else:
                yield event, row


def not_offered(device: str, state: str, row: str) -> str | None:
    """Return why this device has no such cell, or None if it has the cell."""
    for place in (STATES[state], TABLE["rows"][row]):
        if device in place.get("not", {}):
            return str(place["not"][device])
    return None


def own_row(device: str, row: str) -> dict[str, Any]:
    """Return a row with this device's differences."""
    found: dict[str, Any] = TABLE["rows"][row]
    other: dict[str, Any] = found.get("but", {}).get(device, {})
    return found | other


def is_never_asked_for(device: str, event: str, row: str) -> bool:
    """Decide whether the event is an answer to a device that sends nothing.

    A device that asks for one such answer asks for all of them, so `STANDING_FOR_ALL` is tested in
    place of the others.
    """
    answer = event in ANSWERS and event not in STANDING_FOR_ALL
    return answer and not own_row(device, row)["sent"]


def expected(device: str, row: str, before: Seen, fed: int, new: bytes | None) -> Expected:
    """Return what this device does after an event.

    Args:
        device: The device's name.
        row: The row of the cell.
        before: The device's state before the event.
        fed: Samples that came with the event, to fill the minibatch.
        new: The new bytes that were sent, if there were any.
    """
    own = own_row(device, row)
    seen = Seen(
        before.state if own["state"] == "same" else own["state"],
        {"kept": before.samples + fed, "one more": before.samples + 1, "used": 0, "erased": 0}[
            own["samples"]
        ],
        {"kept": before.outbox, "new": new, "empty": None}[own["outbox"]],
        {
            "kept": before.ledger,
            "charged": before.ledger + 1,
            "charged twice": before.ledger + 2,
            "erased": 0,
        }[own["ledger"]],
    )
    again = STATES[before.state]["again"] if own["again"] == "as before" else own["again"]
    return Expected(seen, own["sent"], again)
