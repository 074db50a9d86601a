"""A document read field by field, so that all its mistakes are found at once.

msgspec judges every field, and stops at the first wrong one; here it is asked about each by itself.
Rules about several fields follow, wherever the fields that they need are valid.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_args

import msgspec

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.wording import Words, cut, in_words, listed, shown

__all__ = ["MISSING", "Review", "Rule", "fields_of", "read", "rule"]

T = TypeVar("T", bound=msgspec.Struct)
MISSING = Phrase("is missing")
MOST_UNKNOWN = 10
"""Unknown fields of a table that are named; a document from outside may have any number."""

Check: TypeAlias = Callable[..., Iterable[Mistake]]


class Rule(NamedTuple):
    """A rule about fields that are valid by themselves: it gets their values, in this order."""

    needs: tuple[str, ...]
    check: Check


def rule(*needs: str) -> Callable[[Check], Rule]:
    """Make a check a `Rule` about these fields: it runs only where each of them is valid alone."""
    return lambda check: Rule(needs, check)


class Review:
    """What is valid in a document, by its place, and what is wrong: a mistake for each field.

    Args:
        document: Plain data, as from TOML or JSON.
        kind: What it should be.
        name: What to call all of it.

    >>> class Box(msgspec.Struct, forbid_unknown_fields=True):
    ...     width: int
    ...     height: int = 1
    >>> review = Review({"width": "wide", "hight": 2}, Box, "the box")
    >>> for mistake in review.mistakes:
    ...     print(mistake)
    hight is not known here. Did you mean height?
    width must be a whole number, found "wide".
    """

    def __init__(self, document: Any, kind: type[msgspec.Struct], name: str) -> None:
        self.values: dict[str, Any] = {}
        self.mistakes: list[Mistake] = []
        if isinstance(document, dict):
            self._read_table(document, kind, "")
        else:
            self._read_value(document, kind, name)

    def apply(self, rules: Iterable[Rule]) -> None:
        """Judge by further rules; what a field is first found guilty of is what is said of it."""
        for needs, check in rules:
            if all(place in self.values for place in needs):
                for mistake in check(*(self.values[place] for place in needs)):
                    if all(mistake.field != known.field for known in self.mistakes):
                        self.mistakes.append(mistake)

    def _read_table(self, table: dict[str, Any], kind: type[msgspec.Struct], inside: str) -> None:
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        misspelt = set()
        for mistake, meant in _unknown(table, list(fields), inside):
            self.mistakes.append(mistake)
            misspelt |= set(meant)
        for name, field in fields.items():
            if name in table or name not in misspelt:
                self._read_field(table, field, inside)

    def _read_field(
        self, table: dict[str, Any], field: msgspec.structs.FieldInfo, inside: str
    ) -> None:
        place, inner = inside + field.name, _struct_in(field.type, table.get(field.name))
        if field.name in table:
            value = table[field.name]
        elif field.required and not (inner and _requires_some(inner)):
            self.mistakes.append(Mistake(place, MISSING, remedy=_addition(field, inside[:-1])))
            return
        else:
            # A table left out is an empty one: what it must have is missing, the rest has defaults.
            value = {} if inner and field.default is not None else field.default
        if inner and isinstance(value, dict):
            self._read_table(_untagged(value, inner), inner, f"{place}.")
        else:
            self._read_value(value, field.type, place)

    def _read_value(self, value: Any, kind: Any, place: str) -> None:
        if _fits(value, kind):
            self.values[place] = msgspec.convert(value, kind)
        else:
            must = Phrase("must be {what}", what=in_words(kind))
            self.mistakes.append(Mistake(place, must, _culprit(value, kind)))


def read(document: Any, kind: type[T], name: str, rules: Iterable[Rule], start: str = "") -> T:
    """The document as what it should be, or `InvalidTask` with all its mistakes."""
    review = Review(document, kind, name)
    review.apply(rules)
    if review.mistakes:
        raise InvalidTask(*review.mistakes, start=start)
    return msgspec.convert(document, kind)


def fields_of(
    kind: type[msgspec.Struct], inside: str = ""
) -> Iterator[tuple[str, msgspec.structs.FieldInfo]]:
    """Every field of a document by its place, such as `model.kind`."""
    for field in msgspec.structs.fields(kind):
        inner = _struct_in(field.type, None)
        if inner:
            yield from fields_of(inner, f"{inside}{field.name}.")
        else:
            yield inside + field.name, field


def _unknown(
    table: dict[str, Any], known: list[str], inside: str
) -> Iterator[tuple[Mistake, list[str]]]:
    """Fields that a table should not have, and what each may have been meant to be."""
    strange = [name for name in table if name not in known]
    for name in strange[:MOST_UNKNOWN]:
        meant = difflib.get_close_matches(name[:100], known, n=1)
        if meant:
            remedy = Phrase("Did you mean {name}?", name=inside + meant[0])
        else:
            remedy = Phrase("Remove it. Known here: {names}.", names=listed(known, "and"))
        yield Mistake(inside + cut(name), Phrase("is not known here"), remedy=remedy), meant


def _addition(field: msgspec.structs.FieldInfo, table: str) -> Phrase:
    """Say where to add a missing field and, where its type has an example, what it may be."""
    metas = [part for part in get_args(field.type) if isinstance(part, msgspec.Meta)]
    examples = [example for meta in metas for example in meta.examples or ()]
    if not examples:
        return Phrase("Add it under [{table}].", table=table) if table else Phrase("Add it.")
    example = f'{field.name} = "{examples[0]}"'
    if table:
        return Phrase("Add it under [{table}], say {example}.", table=table, example=example)
    return Phrase("Add it, say {example}.", example=example)


def _struct_in(kind: Any, value: Any) -> type[msgspec.Struct] | None:
    """The table that a field is, also where it may be left out; of several, the one it names."""
    parts = [
        part
        for part in (kind, *get_args(kind))
        if isinstance(part, type) and issubclass(part, msgspec.Struct)
    ]
    named = [part for part in parts if isinstance(value, dict) and _names(value, part)]
    return next(iter(named or (parts if len(parts) == 1 else [])), None)


def _names(table: dict[str, Any], kind: type[msgspec.Struct]) -> bool:
    config = kind.__struct_config__
    return config.tag_field is not None and table.get(config.tag_field) == config.tag


def _untagged(table: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    tag = kind.__struct_config__.tag_field
    return {name: value for name, value in table.items() if name != tag}


def _requires_some(kind: type[msgspec.Struct]) -> bool:
    return any(field.required for field in msgspec.structs.fields(kind))


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _culprit(value: Any, kind: Any) -> Words:
    """What breaks the rule: in a list, its first wrong entry, or how many there are."""
    if not isinstance(value, list) or not _fits([], kind):
        return shown(value)
    wrong = [entry for entry in value if not _fits([entry], kind)]
    if wrong:
        return Phrase("{entry} in it", entry=shown(wrong[0]))
    return Phrase("{n} entries", n=len(value))
