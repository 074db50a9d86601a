"""Check a release: python -m tests.packaging.release check [EXTRA…] | sbom | tag TAG.

`check` installs the built wheel with each extra from the package index, as a user does. That takes
minutes, so it does not belong to the tests. Files are in dist/ (`make dist`), and the list in
sbom/.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.metadata import parse_email

from tests.docs.pages import ROOT, page
from tests.docs.test_tutorial import LARGEST_ERROR, Terminal, follow
from tests.packaging.test_extras import LOAD, PROMISES, USED_LATE

PATIENCE = 480.0
"""Seconds for one command."""
PLACEHOLDER = ".example/"
IN_THE_IMAGE = "postgresql"
TUTORIAL = "tutorial"
"""Named in place of an extra: runs the tutorial."""


def check(extras: list[str]) -> None:
    """Check the files in dist/, and use them: each extra alone, the demo, the tutorial."""
    sdist, wheel = built()
    run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    for extra in extras or [*PROMISES, TUTORIAL]:
        if extra == TUTORIAL:
            type_tutorial(sdist, wheel)
            continue
        with installed(wheel, extra) as (python, empty):
            words = PROMISES[extra], USED_LATE.get(extra, ""), PROMISES["mqtt"]
            run([python, "-c", LOAD, ROOT, *words], empty)
            run([python.parent / "crowdml", "--version"], empty)
            if extra == "demo":
                run([python.parent / "crowdml", "demo", "--seconds", "5", "--json"], empty)


def type_tutorial(sdist: Path, wheel: Path) -> None:
    """Type all commands of the tutorial in a folder that has only the examples."""
    with installed(wheel, "server,sim") as (python, empty):
        unpack(sdist, "examples", empty)
        error = follow(Terminal(empty, programs=python.parent))
        say(f"the tutorial, from an empty folder: error {error} for somebody new")
        assert error < LARGEST_ERROR


def sbom() -> None:
    """List everything that a server with PostgreSQL consists of, as CycloneDX."""
    folder = ROOT / "sbom"
    folder.mkdir(exist_ok=True)
    with installed(built()[1], IN_THE_IMAGE) as (python, _):
        tool = Path(sys.executable).parent / "cyclonedx-py"
        out = folder / "crowdml.cdx.json"
        run([tool, "environment", "--output-reproducible", "--output-file", out, python])


def problems_of_tag(tag: str) -> list[str]:
    """Return why this tag must not be released."""
    about = tomllib.loads(page("pyproject.toml"))["project"]
    found = []
    if tag != f"v{about['version']}":
        found.append(f"the tag must be v{about['version']}, as in pyproject.toml, found {tag}.")
    if any(PLACEHOLDER in url for url in about["urls"].values()):
        found.append("project.urls in pyproject.toml is a placeholder: name the repository.")
    if f"\n## {about['version']}" not in page("CHANGELOG.md"):
        found.append(f"CHANGELOG.md has no heading for {about['version']}.")
    return found


def built() -> tuple[Path, Path]:
    """Return the sdist and the wheel in dist/, which must have the same version."""
    (sdist,), (wheel,) = (ROOT / "dist").glob("*.tar.gz"), (ROOT / "dist").glob("*.whl")
    with tarfile.open(sdist) as archive:
        (name,) = (name for name in archive.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", name))
        file = archive.extractfile(name)
        assert file is not None
        version = parse_email(file.read())[0]["version"]
    assert wheel.name == f"crowdml-{version}-py3-none-any.whl", wheel.name
    return sdist, wheel


@contextmanager
def installed(wheel: Path, extra: str) -> Iterator[tuple[Path, Path]]:
    """Make a new environment with the wheel and an extra; return its Python and an empty folder."""
    began = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="crowdml-release-"))
    try:
        venv.create(place / "venv", with_pip=True, symlinks=True)
        python, asked = place / "venv" / "bin" / "python", f"{wheel}[{extra}]" if extra else wheel
        # The newest versions, as users get them: constraints.txt is only for the tests.
        run([python, "-m", "pip", "install", "--quiet", "--no-compile", asked])
        run([python, "-m", "pip", "check"])
        size = sum(file.stat().st_size for file in place.rglob("*") if not file.is_symlink())
        seconds = time.monotonic() - began
        say(f"crowdml[{extra}] is installed: {size / 1e6:.0f} MB in {seconds:.0f} s")
        (place / "empty").mkdir()
        yield python, place / "empty"
    finally:
        shutil.rmtree(place)


def unpack(sdist: Path, folder: str, into: Path) -> None:
    """Unpack one folder of the sdist."""
    with tarfile.open(sdist) as archive:
        top = archive.getnames()[0].partition("/")[0]
        for member in archive.getmembers():
            if member.name.startswith(f"{top}/{folder}/"):
                member.name = member.name.removeprefix(f"{top}/")
                archive.extract(member, into, filter="data")


def run(command: list[object], folder: Path | None = None) -> None:
    """Run a command without anything of this clone; exit if it fails."""
    shown = " ".join(str(word) for word in command if "\n" not in str(word))
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=own, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"failed: {shown}\n{done.stdout}{done.stderr}")
    say(f"ran: {shown[-100:]}")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "check":
        check(rest)
    elif what == "sbom":
        sbom()
    elif found := problems_of_tag(*rest):
        sys.exit("\n".join(found))
