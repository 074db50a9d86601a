"""Public names of a package that are loaded when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which finds each name in its home.

    So a part of the package can be imported without what the other parts need.

    >>> lazy("music", {"sqrt": "math"})("sqrt")(9.0)
    3.0
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load
