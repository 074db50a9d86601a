"""Define a field of the form that creates a task: its texts; its type decides the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Protocol, get_args, get_origin

from crowdml.errors import Mistake
from crowdml.phrase import Phrase, written
from crowdml.portal.words import NBSP, localize_number, plain_number, say
from crowdml.protocol import MISSING, TaskFile, fields_of

FILE_ONLY = {"model.start", "model.pilot"}
"""Fields about a file beside the task file, which a form does not have."""

TASK_FILE = {key: each for key, each in fields_of(TaskFile) if key not in FILE_ONLY}
LONGEST_LINE = 200
UNBROKEN = (" … ", "Empty: ", "Leer: ")
"""What stays on one line with the words beside it."""


class InputKind(StrEnum):
    """Name the kind of input of a field."""

    LINE = "line"
    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    NUMBERS = "numbers"
    CHOICE = "choice"
    CHECK = "check"


class RegisteredKind(Protocol):
    """Describe a registered kind with words for people who choose one."""

    @property
    def words(self) -> str | Phrase: ...


@dataclass(frozen=True)
class Field:
    """Describe one field of the form.

    Args:
        key: The field's key in a task file.
        label: The field's name on the page.
        about: What to write.
        start: The value that the form starts with.
        names: For a choice: the meaning of each value, or a registry of kinds with words.
        short: For a choice: words that fit into a list, in place of the registry's.
        none: For a choice without a default: the meaning of choosing nothing.
        default: Whether the hint names the default.
        usual: The default, where the task file has none.
    """

    key: str
    label: str
    about: str = ""
    start: str = ""
    names: Mapping[str, str | RegisteredKind] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    none: str = ""
    default: bool = True
    usual: float | None = None

    @property
    def id(self) -> str:
        return self.key.replace(".", "-")

    @property
    def kind(self) -> InputKind:
        return InputKind.CHOICE if self.names else _kind(TASK_FILE[self.key].type)

    @property
    def hint(self) -> str:
        """Return what to write, and the default."""
        about, default = say(self.about), self.usual or TASK_FILE[self.key].default
        if self.kind is InputKind.NUMBER and isinstance(default, int | float) and self.default:
            n = localize_number(written(default).replace(",", ""))  # as it can be typed
            about = f"{about} {say('Empty: {n}.', n=n)}".lstrip()
        for words in UNBROKEN:
            about = about.replace(words, words.replace(" ", NBSP))
        return about

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Return values and their names; the first value is empty where nothing may be chosen."""
        first = [("", say(self.none) if self.none else self._default)]
        named = [
            (
                value,
                say("{value}: {name}", value=value, name=_in_words(self.short.get(value, known))),
            )
            for value, known in self.names.items()
        ]
        return named if self.start and not self.none else first + named

    @property
    def _default(self) -> str:
        """Name the default of a choice; a registered kind is known by its value alone."""
        value = str(TASK_FILE[self.key].default)
        known = self.names.get(value)
        if not isinstance(known, str):
            return say("default: {value}", value=value)
        return say("default: {value} ({name})", value=value, name=say(known))


@dataclass(frozen=True)
class FoldedFields:
    """Describe fields that few people need, folded away under a title."""

    title: str
    fields: list[Field] = field(default_factory=list)


@dataclass(frozen=True)
class FormStep:
    """Describe one step of the form, with a title."""

    title: str
    about: str
    fields: list[Field] = field(default_factory=list)
    folds: list[FoldedFields] = field(default_factory=list)


def _in_words(known: str | RegisteredKind) -> str:
    return say(known if isinstance(known, str) else known.words)


def _kind(type_: Any) -> InputKind:
    if get_origin(type_) is Annotated:
        type_, meta = get_args(type_)[:2]
        if type_ is str:
            return InputKind.TEXT if (meta.max_length or 0) > LONGEST_LINE else InputKind.LINE
    if NoneType in get_args(type_):
        return _kind(get_args(type_)[0])
    if get_origin(type_) is tuple:
        numbers = _kind(get_args(type_)[0]) is InputKind.NUMBER
        return InputKind.NUMBERS if numbers else InputKind.LINES
    kinds = {bool: InputKind.CHECK}
    return kinds.get(get_origin(type_) or type_, InputKind.NUMBER)


def sentence(mistake: Mistake, field: str | None = None) -> str:
    """Write a mistake as a sentence, to stand beside its field or to name its field.

    >>> rule, remedy = Phrase("must be short"), Phrase("Cut it.")
    >>> sentence(Mistake("title", rule, "a long one", remedy))
    'This must be short, found a long one. Cut it.'
    """
    if mistake.rule == MISSING and field is None:
        mistake = replace(mistake, remedy=Phrase("Fill it in."))
    said = say(mistake.about(Phrase("This") if field is None else field))
    typed = mistake.found.values.get("text") if isinstance(mistake.found, Phrase) else None
    if field is None and isinstance(typed, str) and plain_number(typed) is None:
        said += " " + say("Write a thousand without a point: 1000.")
    return said
