"""Check that the sdist and the wheel have all their files, and no others."""

import tarfile
import zipfile

import pytest

from tests.docs.pages import ROOT
from tests.packaging.clean import build, own

pytestmark = pytest.mark.xdist_group("packaging")

SOURCES = {
    str(file.relative_to(ROOT))
    for file in (ROOT / "crowdml").rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}


def test_the_wheel_is_the_package() -> None:
    with zipfile.ZipFile(build()[1]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == SOURCES
    assert {
        "crowdml/py.typed",
        "crowdml/web/device/device.js",
        "crowdml/data/activity.npz",
    } <= SOURCES


def test_the_sdist_has_what_the_tests_need() -> None:
    with tarfile.open(build()[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= SOURCES
    assert names >= {"LICENSE", "Makefile", "README.md", "docs/tasks.md", "tests/web/vectors.js"}
    assert not {name.partition("/")[0] for name in names} & {".venv", "node_modules", "dist"}


def test_they_are_small() -> None:
    """Limit what a device downloads; its dependencies are in benchmarks/README.md."""
    sdist, wheel = (file.stat().st_size for file in build())
    assert wheel < 1.7e6
    assert sdist < 2.5e6


def test_what_the_wheel_says_about_itself() -> None:
    about = own().metadata
    assert about["Requires-Python"] == ">=3.11"
    assert about["License-Expression"] == "Apache-2.0"
    assert "Learn from a crowd's devices" in str(about.json["description"])
    assert [each.name for each in own().entry_points] == ["crowdml"]
