"""Public names of a package that are loaded when they are first used."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, **modules: list[str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which loads each name from its module in the package.

    So a part of the package can be imported without what the other parts need.

    >>> lazy("os", path=["basename", "dirname"])("dirname")("here/there")
    'here'
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
