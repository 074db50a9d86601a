"""Options with several values, as the settings of a sweep."""

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crowdml.errors import InvalidInput
from crowdml.optim import OPTIMIZERS
from crowdml.protocol import MECHANISMS

if TYPE_CHECKING:
    from crowdml.simulation import Dataset

__all__ = [
    "CHOOSING",
    "Setting",
    "chooses",
    "default_devices",
    "numbers",
    "settings",
    "texts",
    "whole",
]

Setting = dict[str, Any]

CHOOSING = ("auto", "paper")
"""Words for --rate that let c be chosen: on samples set aside, or on the test set."""

FEW = 1000
"""Devices where neither people nor a check-in for each say how many there are."""


def settings(axes: dict[str, list[Any]]) -> Iterator[Setting]:
    """Every combination, each once; a clip is left out where the mechanism has none."""
    seen = []
    for values in itertools.product(*axes.values()):
        setting = dict(zip(axes, values, strict=True))
        kind = MECHANISMS.get(setting["mechanism"])
        if len(axes["mechanism"]) > 1 and kind and "model.clip" not in kind.options:
            setting["clip"] = None
        if setting not in seen:
            seen.append(setting)
            yield setting


def chooses(rate: str | float, optimizer: str) -> bool:
    """Whether c is chosen by trying: where that is wanted, or there is no plan for it."""
    kind = OPTIMIZERS.get(optimizer)
    return rate in CHOOSING or (rate == "planned" and kind is not None and not kind.has_rate)


def default_devices(data: "Dataset", mechanism: str, batch: int, checkins: int | None) -> int:
    """One for each person, or 1000. Where ε is for a person over all check-ins, as many as have
    the samples for one check-in each, or for K, so that each tells as much as it can."""
    if "collection.checkins" in MECHANISMS[mechanism].options:
        return data.most_devices(batch * (checkins or 1))
    people = len(set(data.person.tolist()))
    return people if people > 1 else min(FEW, len(data.y_train))


def texts(name: str, text: str) -> list[str]:
    values = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in values:
        raise InvalidInput(f"--{name} must be values with commas between them, found {text!r}.")
    return values


def numbers(name: str, text: str | None) -> list[Any]:
    """None by itself where nothing is said."""
    if text is None:
        return [None]
    try:
        values = [float(part) for part in texts(name, text)]
    except ValueError:
        values = [math.nan]
    if any(math.isnan(value) for value in values):
        other = ", or planned, auto or paper" if name == "rate" else ""
        raise InvalidInput(
            f"--{name} must be numbers with commas between them{other}, found {text!r}."
        )
    return values


def whole(name: str, text: str | None) -> list[Any]:
    values = numbers(name, text)
    if any(value is not None and (value < 1 or value % 1) for value in values):
        raise InvalidInput(f"--{name} must be whole numbers of at least 1, found {text!r}.")
    return [None if value is None else int(value) for value in values]
