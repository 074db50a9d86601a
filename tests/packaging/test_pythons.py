"""Try the wheel in the newest other Python on this machine, with that version's packages."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.packaging.clean import build, link, needed
from tests.packaging.test_extras import LOAD, PROMISES

pytestmark = pytest.mark.xdist_group("packaging")

OTHERS = [minor for minor in (14, 13, 12, 11) if minor != sys.version_info.minor]


def newest_at_hand() -> tuple[int, str]:
    """Find an interpreter on PATH or of pyenv; pyenv's own names may lead nowhere."""
    for minor in OTHERS:
        name = f"python3.{minor}"
        pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}"))
        for found in filter(None, (shutil.which(name), *map(str, pyenv))):
            if subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0:
                return minor, found
    pytest.skip("no other Python at hand")


def test_the_wheel_runs_in_another_python(tmp_path: Path) -> None:
    minor, python = newest_at_hand()
    compiled: list[object] = [build()[1]]
    for each in needed():
        if any(file.suffix == ".so" for file in each.files or []):
            compiled.append(f"{each.name}=={each.version}")
        else:
            link(each, tmp_path)
    install = subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps",
            "--only-binary=:all:", "--python-version", f"3.{minor}", "--target", str(tmp_path),
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
