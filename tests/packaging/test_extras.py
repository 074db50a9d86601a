"""Check that each extra alone has what it promises, and that the plain package needs none."""

import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.packaging.clean import clean_python, own

pytestmark = pytest.mark.xdist_group("packaging")

PROMISES = {
    "": "cli data device flower models optim privacy protocol",
    "demo": "demo",
    "flower": "flower",
    "listen": "certificate device.sources",
    "mqtt": " ".join(
        f"device.sources.mqtt{part}" for part in ("", ".broker", ".discovery", ".topic")
    ),
    "noise": "privacy",
    "postgresql": "server",
    "server": "bench.server server",
    "server-direction": "portal server",
    "sim": "bench.simulator checks.audit checks.picture reproduction simulation sklearn",
}
"""The packages that must work with each extra."""
USED_LATE = {
    "demo": "onnx granian brotli",
    "flower": "flwr",
    "listen": "cryptography segno",
    "noise": "opendp.measurements",
    "postgresql": "psycopg opendp onnx",
    "server": "opendp onnx granian cryptography argon2 matplotlib segno",
    "server-direction": "tomlkit",
    "sim": "opendp sklearn matplotlib tomlkit",
}
"""Packages that are loaded only when they are needed."""

LOAD = """
import importlib, pkgutil, sys
sources = sys.argv.pop(1)
promised, late, others = (each.split() for each in sys.argv[1:])
for name in late:
    importlib.import_module(name)
for name in promised:
    module = importlib.import_module(f"crowdml.{name}")
    for part in pkgutil.walk_packages(getattr(module, "__path__", ()), module.__name__ + "."):
        if part.name.removeprefix("crowdml.") not in others and ".migrations." not in part.name:
            importlib.import_module(part.name)
assert not module.__file__.startswith(sources), module.__file__
"""


def run(folder: Path, extra: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program where only the wheel and what the extra requires are installed."""
    return subprocess.run(
        [str(clean_python(extra)), *arguments],
        env={"HOME": str(folder)}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def load(
    folder: Path, extra: str, promised: str, late: str = ""
) -> subprocess.CompletedProcess[str]:
    return run(folder, extra, "-c", LOAD, str(ROOT), promised, late, PROMISES["mqtt"])


@pytest.mark.parametrize("extra", PROMISES)
def test_each_extra_alone(tmp_path: Path, extra: str) -> None:
    try:
        clean_python(extra)
    except PackageNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    done = load(tmp_path, extra, PROMISES[extra], USED_LATE.get(extra, ""))
    assert done.returncode == 0, done.stderr


def test_every_extra_is_tried() -> None:
    assert {"", *own().metadata.get_all("Provides-Extra", [])} == {*PROMISES, "dev", "release"}


def test_the_environment_is_clean(tmp_path: Path) -> None:
    """Check that packages outside of the extras are absent, although the tests have them."""
    done = load(tmp_path, "", "server")
    assert "No module named 'brotli'" in done.stderr
    done = run(tmp_path, "", "-m", "crowdml", "demo")
    assert (done.returncode, "pip install 'crowdml[demo]'" in done.stderr) == (1, True)
