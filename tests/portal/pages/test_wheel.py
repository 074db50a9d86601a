"""The wheel that a server serves: pip installs it by the very commands that the join page shows."""

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from html import unescape
from importlib.metadata import distribution
from pathlib import Path

import pytest

from crowdml.portal.pages.wheel import own_wheel, package_files
from tests.docs.pages import ROOT
from tests.docs.test_commands import KNOWN
from tests.support.servers import Portal, create, make_direction_task, make_task

PIP = f"{sys.executable} -m pip install --quiet --no-deps --no-index --no-compile --target here"


@pytest.fixture(scope="module", params=["self-signed", None])
def portal(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"), request.param)
    sensor = {"features__sensor.kind": "motion", "features__sensor.window": 8}
    create(portal.database, make_task("noisy"), make_direction_task("sensed", **sensor))
    portal.start()
    try:
        yield portal
    finally:
        portal.kill()


def installation(portal: Portal, task: str = "noisy") -> str:
    """The commands of the join page, up to the one that joins."""
    with portal.connected() as wire:
        text = wire.get(f"/tasks/{task}/join").body.decode()
    (shown,) = re.findall(r'<h2 id="linux">[^<]*</h2>\s*<pre[^>]*>(.*?)</pre>', text, re.S)
    return unescape(shown).partition("crowdml device join")[0]


def run(folder: Path, script: str) -> "subprocess.CompletedProcess[str]":
    script = script.replace("pip install", PIP).replace("curl ", "curl -sS ")
    return subprocess.run(
        ["sh", "-e", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_join_page_names_the_way_of_sensor_apps(portal: Portal, language: str) -> None:
    """The commands exist, and a task without a sensor does not show them."""
    with portal.connected() as wire:
        pages = [
            wire.get(f"/tasks/{task}/join", **{"Accept-Language": language}).body.decode()
            for task in ("sensed", "noisy")
        ]
    sensed, noisy = (re.findall(r'<h2 id="apps">.*?<pre[^>]*>(.*?)</pre>', p, re.S) for p in pages)
    assert noisy == []
    first, second = unescape(sensed[0]).replace("\\\n", "").splitlines()
    assert "--source http://0.0.0.0:8000   --format sensor-logger" in first
    assert second == "crowdml device label LABEL"
    for _, *words in (first.split(), second.split()):
        assert {word for word in words if word.startswith("--")} <= KNOWN[tuple(words[:2])]


def test_what_draws_the_qr_code_is_installed(portal: Portal) -> None:
    """An app's address is drawn, and served over TLS, by libraries that pip must be asked for."""
    assert "[listen]" in installation(portal, "sensed")
    assert "listen" not in installation(portal)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_join_page_names_the_way_of_termux(portal: Portal, language: str) -> None:
    with portal.connected() as wire:
        pages = [
            unescape(wire.get(f"/tasks/{task}/join", **{"Accept-Language": language}).body.decode())
            for task in ("sensed", "noisy")
        ]
    assert "termux" not in pages[1].lower()
    (command,) = re.findall(r"termux-sensor .*", pages[0])
    sensor, _, device = command.partition(" | ")
    assert sensor == "termux-sensor -s accel -d 50"
    expected = "python3 device.py run --source - --format termux --label LABEL"
    assert device.removesuffix("</pre>") == expected


def test_pip_installs_what_the_join_page_names(portal: Portal, tmp_path: Path) -> None:
    script = installation(portal)
    assert "[noise]" in script, "what this task's mechanism needs"
    ran = run(tmp_path, script)
    assert ran.returncode == 0, ran.stderr
    installed = {
        str(file.relative_to(tmp_path / "here"))
        for file in (tmp_path / "here" / "crowdml").rglob("*")
        if file.is_file()
    }
    assert installed == {
        str(file.relative_to(ROOT))
        for file in (ROOT / "crowdml").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_another_file_is_not_installed(portal: Portal, tmp_path: Path) -> None:
    (sha256,) = re.findall(r"[0-9a-f]{64}", installation(portal))
    ran = run(tmp_path, installation(portal).replace(sha256, "0" * 64))
    assert ran.returncode != 0
    assert not (tmp_path / "here").exists()


def test_the_short_address_leads_to_it(portal: Portal) -> None:
    with portal.connected() as wire:
        reply = wire.get("/crowdml.whl")
        assert (reply.status, reply.headers["location"]) == (303, f"/{own_wheel().name}")
        assert wire.get(reply.headers["location"]).body == own_wheel().body
        assert wire.get("/crowdml-9.9-py3-none-any.whl").status == 404


def test_its_record() -> None:
    """Every file with its hash, the metadata of the installation, and no path of this machine."""
    with zipfile.ZipFile(io.BytesIO(own_wheel().body)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    for name, hashed, length in csv.reader(io.StringIO(files[record].decode())):
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode()
            assert (hashed, length) == (f"sha256={digest.rstrip('=')}", str(len(files[name])))
    inside = {name.rpartition("/")[2] for name in files if ".dist-info/" in name}
    assert {"METADATA", "WHEEL", "entry_points.txt", "LICENSE"} < inside
    assert not inside & {"INSTALLER", "REQUESTED", "direct_url.json"}
    own_wheel.cache_clear()
    assert hashlib.sha256(own_wheel().body).hexdigest() == own_wheel().sha256
    assert all(str(ROOT).encode() not in content for content in files.values())


def test_a_clone_gives_nothing_else_away(tmp_path: Path) -> None:
    """A server that was started in the package's folder keeps its database and its key there."""
    for name in ("__init__.py", "crowdml.db", "crowdml-key.pem", "pilot.csv", "web/index.js"):
        file = tmp_path / "crowdml" / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    files = dict(package_files(tmp_path / "crowdml", distribution("crowdml")))
    assert set(files) == {"crowdml/__init__.py", "crowdml/web/index.js"}
