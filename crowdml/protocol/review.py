"""Read a document field by field, and find all its mistakes at once.

msgspec checks every field but stops at the first wrong one, so it is asked about each field alone.
Rules about several fields follow, where the fields that they need are valid.
"""

import difflib
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, get_args

import msgspec

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.wording import Words, cut, entries, in_words, listed, shown

T = TypeVar("T", bound=msgspec.Struct)
MISSING = Phrase("is missing")
MOST_UNKNOWN = 10
"""Unknown fields of a table that are named; a document from outside may have any number."""

Check: TypeAlias = Callable[..., Iterable[Mistake]]


class KindsByField:
    """Mark a table of which there are several kinds, named by one of its fields.

    A kind is a struct whose tag is its name. msgspec reads such a field with `read_open`.
    """

    __slots__ = ()

    tag_field: ClassVar[str]

    @classmethod
    def kinds(cls) -> dict[str, Any]:
        """Return the struct of every kind, by its name."""
        raise NotImplementedError

    @classmethod
    def named_in(cls, table: Any) -> type[msgspec.Struct] | None:
        """Return the struct that a table names; None if it names none that is known."""
        name = table.get(cls.tag_field) if isinstance(table, dict) else None
        return cls.kinds().get(name) if isinstance(name, str) else None


def read_open(kind: type, document: Any) -> Any:
    """Read a table of an open kind. Give this to msgspec as its `dec_hook`."""
    if not issubclass(kind, KindsByField):
        raise NotImplementedError(f"there is no way to read {kind}.")
    named = kind.named_in(document)
    if named is None:
        raise ValueError(f"{kind.tag_field} must be one of {', '.join(kind.kinds())}.")
    return msgspec.convert(document, named)


class FieldRule(NamedTuple):
    """Hold a rule about fields that are valid by themselves; it gets their values in this order."""

    needs: tuple[str, ...]
    check: Check


def field_rule(*needs: str) -> Callable[[Check], FieldRule]:
    """Make a `FieldRule` from a check of these fields; it runs only if all of them are valid."""
    return lambda check: FieldRule(needs, check)


class Review:
    """Collect what is valid in a document, by its path, and one mistake for each wrong field.

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

    def apply(self, rules: Iterable[FieldRule]) -> None:
        """Apply further rules; only the first mistake of a field is reported."""
        for needs, check in rules:
            if all(path in self.values for path in needs):
                for mistake in check(*(self.values[path] for path in needs)):
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
        path, inner = inside + field.name, _struct_in(field.type, table.get(field.name))
        if field.name in table:
            value = table[field.name]
        elif field.required and not (inner and _requires_some(inner)):
            self.mistakes.append(Mistake(path, MISSING, remedy=_addition(field, inside[:-1])))
            return
        else:
            # A table left out is an empty one: what it must have is missing, the rest has defaults.
            value = {} if inner and field.default is not None else field.default
        if inner and isinstance(value, dict):
            self._read_tagged(value, inner, path)
        elif _is_open(field.type) and isinstance(value, dict):
            names, found = listed(field.type.kinds()), value.get(field.type.tag_field)
            must = Phrase("must be {what}", what=names)
            self.mistakes.append(Mistake(f"{path}.{field.type.tag_field}", must, shown(found)))
        else:
            self._read_value(value, field.type, path)

    def _read_tagged(self, table: dict[str, Any], kind: type[msgspec.Struct], path: str) -> None:
        config = kind.__struct_config__
        if config.tag_field in table:
            self.values[f"{path}.{config.tag_field}"] = config.tag
        rest = {name: value for name, value in table.items() if name != config.tag_field}
        self._read_table(rest, kind, f"{path}.")

    def _read_value(self, value: Any, kind: Any, path: str) -> None:
        if _fits(value, kind):
            self.values[path] = msgspec.convert(value, kind, dec_hook=read_open)
        else:
            must = Phrase("must be {what}", what=in_words(kind))
            self.mistakes.append(Mistake(path, must, _culprit(value, kind)))


def read(document: Any, kind: type[T], name: str, rules: Iterable[FieldRule], start: str = "") -> T:
    """Return the document as its type, or raise `InvalidTask` with all mistakes."""
    review = Review(document, kind, name)
    review.apply(rules)
    if review.mistakes:
        raise InvalidTask(*review.mistakes, start=start)
    return msgspec.convert(document, kind, dec_hook=read_open)


def fields_of(
    kind: type[msgspec.Struct], inside: str = ""
) -> Iterator[tuple[str, msgspec.structs.FieldInfo]]:
    """List every field of a document by its path, such as `model.kind`."""
    for field in msgspec.structs.fields(kind):
        inner = _struct_in(field.type, None)
        if inner:
            yield from fields_of(inner, f"{inside}{field.name}.")
        else:
            yield inside + field.name, field


def _unknown(
    table: dict[str, Any], known: list[str], inside: str
) -> Iterator[tuple[Mistake, list[str]]]:
    """Find fields that a table should not have, and what each may have been meant to be."""
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
    """Return the struct of a field that is a table, or may be one; of several, the named kind."""
    for part in (kind, *get_args(kind)):
        if _is_open(part):
            return part.named_in(value)  # type: ignore[no-any-return]
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            return part
    return None


def _is_open(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, KindsByField)


def _requires_some(kind: type[msgspec.Struct]) -> bool:
    return any(field.required for field in msgspec.structs.fields(kind))


def _fits(value: Any, kind: Any) -> bool:
    try:
        found = msgspec.convert(value, kind, dec_hook=read_open)
    except msgspec.ValidationError:
        return False
    return found is None or all(found in names for names in _registries(kind))


def _registries(kind: Any) -> Iterator[Container[str]]:
    """Return the names that a type allows: those that are registered now."""
    for part in get_args(kind):
        if isinstance(part, msgspec.Meta):
            yield from [part.extra["names"]] if part.extra and "names" in part.extra else []
        else:
            yield from _registries(part)


def _culprit(value: Any, kind: Any) -> Words:
    """Return what breaks the rule: in a list, its first wrong entry, or the number of entries."""
    if not isinstance(value, list) or not _fits([], kind):
        return shown(value)
    wrong = [entry for entry in value if not _fits([entry], kind)]
    if wrong:
        return Phrase("{entry} in it", entry=shown(wrong[0]))
    return entries(len(value))
