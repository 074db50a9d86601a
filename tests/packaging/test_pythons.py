"""The wheel in the newest Python that it is for, with the packages made for that one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.packaging.clean import build, link, needed
from tests.packaging.test_extras import LOAD, PROMISES

pytestmark = pytest.mark.xdist_group("packaging")

NEWEST = 14


def at_hand(version: str) -> str:
    """An interpreter of this version on PATH, or of pyenv, whose own names may lead nowhere."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for found in (shutil.which(f"python{version}"), *map(str, pyenv)):
        if (
            found
            and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0
        ):
            return found
    pytest.skip(f"no Python {version} at hand")


@pytest.mark.skipif(sys.version_info.minor == NEWEST, reason="all tests run in it")
def test_the_wheel_runs_in_the_newest_python(tmp_path: Path) -> None:
    python = at_hand(f"3.{NEWEST}")
    compiled: list[object] = [build()[1]]
    for each in needed():
        if any(file.suffix == ".so" for file in each.files or []):
            compiled.append(f"{each.name}=={each.version}")
        else:
            link(each, tmp_path)
    install = subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps",
            "--only-binary=:all:", "--python-version", f"3.{NEWEST}", "--target", str(tmp_path),
            *map(str, compiled),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "HTTP" in install.stderr and install.returncode:
        pytest.skip("there is no network")
    assert install.returncode == 0, install.stderr
    done = subprocess.run(
        [python, "-W", "error", "-c", LOAD, str(ROOT), PROMISES[""], "", PROMISES["mqtt"]],
        env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
