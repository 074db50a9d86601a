"""Provide the mechanism that CONTRIBUTING.md adds."""

import sys
from types import ModuleType

from crowdml.protocol import MECHANISMS
from tests.support.contributing_steps import steps

NEW = "sign"
PRIVACY, TERMS, REGISTERED, MODULE, REGISTRY, GERMAN = steps("Add a mechanism")


def _written(file: str, code: str) -> ModuleType:
    """Import the code of a step as the module that the step would write."""
    name = file.removesuffix(".py").replace("/", ".")
    module = sys.modules[name] = ModuleType(name)
    exec(compile(code, file, "exec"), vars(module))
    return module


_written(PRIVACY.file, PRIVACY.code)
SIGN = vars(_written(TERMS.file, TERMS.code))["SIGN"]


def register() -> None:
    """Follow the step that registers the mechanism. Importing this module does not register it."""
    imports, _, entry = REGISTERED.code.rpartition("\n\n")
    names: dict[str, object] = {}
    exec(imports, names)
    MECHANISMS.update(eval(f"{{{entry}}}", names))
