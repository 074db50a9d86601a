"""Write the package's reference from its docstrings."""

import importlib
import pkgutil
import warnings
from pathlib import Path

import pdoc

import crowdml

__all__ = ["modules", "write"]

INNER = {
    "__main__",
    "bench",
    "cli",
    "data",
    "demo",
    "lazy",
    "one_file_device",
    "portal",
    "reproduction",
    "visible",
}
"""What nobody needs to import who uses the package."""

DATASETS = "crowdml.simulation.datasets"
BELOW = r"!crowdml\.\w+\.(?!datasets$).+"
"""Leave out inner modules: a module with the name of its function would hide the function."""


def modules() -> list[str]:
    """Return the names of the package and its public parts."""
    parts = {part.name for part in pkgutil.iter_modules(crowdml.__path__)} - INNER
    return ["crowdml", *(f"crowdml.{name}" for name in sorted(parts)), DATASETS]


def write(folder: Path) -> None:
    """Write one page for each module, with the names in its `__all__`, and an index."""
    for name in modules():
        module = importlib.import_module(name)
        # Load lazy names first, because pdoc sees only names that are loaded.
        for shown in module.__all__:
            setattr(module, shown, getattr(module, shown))
    theme = Path(__file__).parent / "theme"
    pdoc.render.configure(
        docformat="google", show_source=False, footer_text="crowdml", template_directory=theme
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc(*modules(), BELOW, output_directory=folder)
