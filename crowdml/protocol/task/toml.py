"""Set single fields of a task file, and keep its comments and layout."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

from crowdml.errors import InvalidTask, Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.mechanisms import MECHANISMS
from crowdml.protocol.task.task_file import BOM, TASK_FILE
from crowdml.protocol.wording import shown

FIELDS_BY_HAND = {f"optimizer.{name}" for name in ("kind", "rate", "c", "averaging", "reach")}
FIELDS_BY_HAND |= {"model.clip"}
"""The fields that an owner may set by hand, and that a plan leaves to crowdml."""

TomlValue: TypeAlias = str | float | bool | Sequence[str | float]


def set_fields(text: str, values: Mapping[str, TomlValue | None]) -> str:
    r"""Set fields of a TOML document, named by places such as `privacy.epsilon`.

    Args:
        text: The document; `InvalidTask` if it is not TOML.
        values: The value of each field; None removes a field.

    >>> print(set_fields('[stop]\nupdates = 5  # few\n', {"stop.updates": 9, "model.clip": None}))
    [stop]
    updates = 9  # few
    <BLANKLINE>
    """
    # Only an owner's tools write task files, so a device does not need tomlkit.
    import tomlkit

    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        document = tomlkit.parse(text.removeprefix(BOM).replace("\r\n", "\n"))
    except (ValueError, RecursionError, tomlkit.exceptions.TOMLKitError) as error:
        must = Phrase("must be valid TOML: {why}", why=str(error))
        raise InvalidTask(Mistake(TASK_FILE, must)) from error
    for place, value in values.items():
        _set(document, place, value)
    return tomlkit.dumps(document).replace("\n", newline)


def _set(table: Any, place: str, value: TomlValue | None) -> None:
    import tomlkit
    from tomlkit.items import Table

    *outer, name = place.split(".")
    for each in outer:
        if value is None and each not in table:
            return
        table = table.setdefault(each, tomlkit.table())
        if not isinstance(table, MutableMapping):
            must = Phrase("must be {what}", what=Phrase("a table"))
            raise InvalidTask(Mistake(each, must, shown(table.unwrap())))
    if value is None:
        table.pop(name, None)
    elif name in table or not isinstance(table, Table):
        table[name] = value
    else:
        # A comment at the end of a table's lines mostly belongs to the next table's header.
        body, comments = table.value.body, []
        while body and body[-1][0] is None:
            comments.append(body.pop())
        table[name] = value
        body.extend(reversed(comments))


def recommended_fields(
    mechanism: str, batch: int, checkins: int, devices: int
) -> dict[str, TomlValue | None]:
    """Return the fields of a task file that a plan recommends; None for a field to remove.

    The rules reject fields of other mechanisms, so these are removed. A plan leaves the optimizer
    and the clip to crowdml, so values chosen by hand are removed too.
    """
    own = MECHANISMS[mechanism].options
    options = {option for kind in MECHANISMS.values() for option in kind.options}
    fields: dict[str, TomlValue | None] = dict.fromkeys(sorted(options - own | FIELDS_BY_HAND))
    if "collection.checkins" in own:
        fields["collection.checkins"] = checkins
    return fields | {
        "privacy.mechanism": mechanism,
        "collection.batch": batch,
        "collection.buffer": None,
        "stop.updates": devices * checkins,
    }
