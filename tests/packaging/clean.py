"""Make a clean environment with the wheel and only what an extra requires."""

import atexit
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

from tests.docs.pages import ROOT


@cache
def build() -> tuple[Path, Path]:
    """Build the sdist from the sources, and the wheel from the sdist."""
    folder = _folder()
    _run("-m", "hatchling", "build", "--target", "sdist", "--directory", folder)
    (sdist,) = folder.glob("*.tar.gz")
    _pip("wheel", "--no-build-isolation", "--wheel-dir", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


@cache
def own() -> Distribution:
    """Install the wheel by pip in its own folder."""
    folder = _folder()
    _pip("install", "--no-compile", "--target", folder, build()[1])
    return next(iter(distributions(name="crowdml", path=[str(folder)])))


@cache
def clean_python(extra: str = "") -> Path:
    """Make an environment that links to the wheel and an extra's packages; return its Python."""
    folder = _folder()
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for each in (own(), *needed(extra)):
        link(each, packages)
    return folder / "bin" / "python"


def link(installed: Distribution, folder: Path) -> None:
    """Link the files of a distribution into this folder."""
    for top in {file.parts[0] for file in installed.files or []} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(installed.locate_file(top))))


def needed(extra: str = "") -> list[Distribution]:
    """Return everything that crowdml with this extra requires, directly or not."""
    return [distribution(name) for name in sorted(_needed(own(), [extra], set()))]


def _needed(asking: Distribution, extras: Iterable[str], found: set[str]) -> set[str]:
    for line in asking.requires or []:
        asked = Requirement(line)
        if asked.marker and not any(asked.marker.evaluate({"extra": e}) for e in ("", *extras)):
            continue
        if asked.name == "crowdml":
            _needed(own(), asked.extras, found)
        elif asked.name not in found:
            found.add(asked.name)
            _needed(distribution(asked.name), asked.extras, found)
    return found


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="crowdml-packaging-"))
    atexit.register(shutil.rmtree, folder)
    return folder


def _pip(command: str, *arguments: object) -> None:
    offline = ("--quiet", "--no-index", "--no-deps", "--disable-pip-version-check")
    _run("-m", "pip", command, *offline, *arguments)


def _run(*arguments: object) -> None:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
