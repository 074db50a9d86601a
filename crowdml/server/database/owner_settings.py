"""Read the owner's settings from a task's row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from crowdml.phrase import Phrase
from crowdml.protocol import rejected

SETTINGS_QUERY = "SELECT state, reopened, edited, removed FROM tasks WHERE id = {}"

DELETED = "deleted"
"""The state of a task that is gone. Its row stays, so that no other task gets its number."""


class OwnerSettings(NamedTuple):
    """Hold the owner's settings of a task.

    They are the wanted state, the check-ins after which the task was reopened, how often its title,
    objective or end were edited, and how many devices left or were revoked.
    """

    state: str = "running"
    reopened: str = ""
    edited: int = 0
    removed: int = 0


def owner_settings_of(row: Sequence[Any]) -> OwnerSettings:
    """Read an answer to `SETTINGS_QUERY`; raise `Rejected` if the task is gone."""
    owner_settings = OwnerSettings(*row)
    if owner_settings.state == DELETED:
        raise rejected("not-found", Phrase("the task was deleted by its owner."))
    return owner_settings
