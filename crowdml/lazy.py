"""Load the public names of a package when they are first used."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["lazy"]


def lazy(package: str) -> Callable[[str], Any]:
    """Make a package's `__getattr__`, which imports a name from its module.

    A part of the package can then be imported without the libraries of the other parts. The imports
    under the package's `if TYPE_CHECKING:` name the module of each name.

    >>> import crowdml.server
    >>> lazy("crowdml.server")("Settings").__module__
    'crowdml.server.settings'
    """

    def load(name: str) -> Any:
        if name not in _homes(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(_homes(package)[name]), name)

    return load


@cache
def _homes(package: str) -> dict[str, str]:
    """Return the module of each name that a package imports for type checkers."""
    import ast

    with open(sys.modules[package].__file__ or "", encoding="utf-8") as source:
        tree = ast.parse(source.read())
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    imports = [node for body in blocks for node in body if isinstance(node, ast.ImportFrom)]
    # Python finds the modules of a package without help.
    homes = {name.name: node.module or "" for node in imports for name in node.names}
    return {name: module for name, module in homes.items() if module != package}
