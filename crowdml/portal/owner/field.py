"""A field of the form that creates a task: words for people; the rest follows from its type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from crowdml.portal.language import say
from crowdml.portal.words import local
from crowdml.protocol import fields_of
from crowdml.protocol.task import TaskFile

__all__ = ["TASK_FILE", "Field", "Kind"]

TASK_FILE = dict(fields_of(TaskFile))
LONGEST_LINE = 200


class Kind(StrEnum):
    """How a field is written."""

    LINE = "line"
    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    CHOICE = "choice"
    CHECK = "check"


@dataclass(frozen=True)
class Field:
    """One field.

    Args:
        key: Its place in a task file.
        label: Its name for people.
        about: What to write.
        start: What the form starts with.
        names: For a choice: what each means.
        none: For a choice: what none means, where that is no choice's default.
        default: Whether to tell what holds if nothing is written.
    """

    key: str
    label: str
    about: str = ""
    start: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    none: str = ""
    default: bool = True

    @property
    def id(self) -> str:
        return self.key.replace(".", "-")

    @property
    def kind(self) -> Kind:
        return _kind(TASK_FILE[self.key].type)

    @property
    def hint(self) -> str:
        """What to write, and what holds if nothing is written."""
        about, default = say(self.about), TASK_FILE[self.key].default
        number = self.kind is Kind.NUMBER and isinstance(default, int | float) and self.default
        return (
            f"{about} {say('Empty: {n}.', n=local(f'{default:,g}'))}".lstrip() if number else about
        )

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Values and their names; the first is no value where one may be left out."""
        usual = say("default: {value}", value=TASK_FILE[self.key].default)
        first = [("", say(self.none) if self.none else usual)]
        named = [(value, f"{value}: {say(meaning)}") for value, meaning in self.names.items()]
        return named if self.start and not self.none else first + named


def _kind(type_: Any) -> Kind:
    if get_origin(type_) is Annotated:
        type_, meta = get_args(type_)[:2]
        if type_ is str:
            return Kind.TEXT if (meta.max_length or 0) > LONGEST_LINE else Kind.LINE
    if NoneType in get_args(type_):
        return _kind(get_args(type_)[0])
    kinds = {bool: Kind.CHECK, tuple: Kind.LINES, Literal: Kind.CHOICE}
    return kinds.get(get_origin(type_) or type_, Kind.NUMBER)
