"""Start one scripted server and one page of Chromium for all cells of the table."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import launched
from tests.conformance.in_browser import BrowserDevice, open_page
from tests.conformance.in_one_file import OneFileDevice
from tests.conformance.in_python import PythonDevice
from tests.conformance.scene import Scene, Stage
from tests.conformance.subject import Subject
from tests.device.scripted_server import serving

DEVICES = ("python", "standalone", "browser")
every_device = pytest.mark.parametrize(
    "device",
    [pytest.param(name, marks=pytest.mark.xdist_group(f"conformance {name}")) for name in DEVICES],
)
Perform = Callable[[str, Scene], Subject]


@pytest.fixture(scope="package")
def stage() -> Stage:
    return Stage()


@pytest.fixture(scope="package")
def url(stage: Stage) -> Iterator[str]:
    with serving(stage) as url:
        yield url


@pytest.fixture(scope="package")
def page(url: str) -> Iterator[Page]:
    with launched() as chromium:
        yield open_page(chromium, url)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder in memory, if possible: the suite tests behaviour, not disks."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def perform(url: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Perform]:
    """Put a device of the named kind on the scene."""
    performed: list[Subject] = []

    def perform(device: str, scene: Scene) -> Subject:
        subject: Subject
        match device:
            case "python":
                subject = PythonDevice(url, scene, folder)
            case "standalone":
                subject = OneFileDevice(url, scene, folder)
            case _:
                subject = BrowserDevice(request.getfixturevalue("page"), scene)
        performed.append(subject)
        return subject

    yield perform
    for subject in performed:
        subject.close()
