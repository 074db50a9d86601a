"""The device in one file, fetched and run by the very commands that the join page shows."""

import base64
import hashlib
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from crowdml.portal.pages.program import program_files, served_files
from tests.docs.pages import ROOT
from tests.one_file_device.program import PROGRAM, OneFileProgram, line
from tests.support.servers import Portal, create, make_direction_task, make_task

SENSED: dict[str, Any] = {"features__sensor.kind": "motion"}
NAME = "With nothing but Python"


@pytest.fixture(scope="module", params=["self-signed", None])
def portal(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"), request.param)
    direction = make_task(privacy__mechanism="direction", privacy__epsilon=4.0)
    bare = make_direction_task("bare", collection__checkins=1, **SENSED)
    loud = make_task("loud", privacy__epsilon=100.0, **SENSED)
    create(portal.database, direction, make_task("noisy"), bare, loud)
    portal.start()
    try:
        yield portal
    finally:
        portal.kill()


def page(portal: Portal, task: str) -> str:
    with portal.connected() as wire:
        reply = wire.get(f"/tasks/{task}/join")
    assert reply.status == 200
    return reply.body.decode()


def commands(portal: Portal) -> str:
    (shown,) = re.findall(
        rf"<h2>{NAME}</h2>\s*<pre[^>]*>(.*?)</pre>", page(portal, "activity"), re.S
    )
    return unescape(shown)


def run(folder: Path, script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        input="y\n",
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_it_is_served_as_it_is(portal: Portal) -> None:
    with portal.connected() as wire:
        reply = wire.get("/device.py")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/x-python; charset=utf-8"
    assert reply.body == PROGRAM.read_bytes()


def test_the_commands_of_the_join_page(portal: Portal, tmp_path: Path) -> None:
    program = OneFileProgram(tmp_path)
    program.source.write_text("".join(line([k / 4, 0.5, 0, 0], "walk") for k in range(3)))
    ran = run(tmp_path, commands(portal))
    assert ran.returncode == 3, ran.stderr
    assert ran.stdout.endswith("all check-ins that you agreed to are made. Thank you.\n")
    with portal.store() as store:
        assert len(store.log(store.task("activity").id)) >= 1


def test_a_file_that_is_another_is_not_run(portal: Portal, tmp_path: Path) -> None:
    script = commands(portal)
    if portal.tls is None:
        assert "sha256sum" not in script
        return
    (sha256,) = re.findall(r'"([0-9a-f]{64})  device.py"', script)
    ran = run(tmp_path, script.replace(sha256, "0" * 64))
    assert ran.returncode != 0
    assert "joined" not in ran.stdout
    assert not (tmp_path / "device.sqlite").exists()


def test_only_where_it_can_take_part(portal: Portal) -> None:
    assert NAME in page(portal, "activity")
    assert NAME not in page(portal, "noisy")


@pytest.mark.parametrize(("task", "epsilon"), [("bare", 40), ("loud", 100)])
def test_an_epsilon_that_protects_nobody_is_called_so(
    portal: Portal, task: str, epsilon: int
) -> None:
    """On all pages about the task, and where a phone is asked for consent."""
    with portal.connected() as wire:
        pages = [wire.get(path + task).body.decode() for path in ("/tasks/", "/join/")]
    for text in map(unescape, (*pages, page(portal, task))):
        assert f"THIS TASK IS NOT PRIVATE.</strong> It has ε\u00a0=\u00a0{epsilon}" in text
        for false in (
            "no noise",
            "without any noise",
            "hides them all",
            "from any samples",
            "Noise is added to every",
            " privacy ",
        ):
            assert false not in text
    assert 'id="accept-no-privacy" required' in pages[1]
    assert page(portal, task).count("--accept-no-privacy") == (2 if task == "bare" else 1)


# The phone's program


def test_the_page_and_the_list_are_of_the_files_that_are_served(portal: Portal) -> None:
    with portal.connected() as wire:
        listed = wire.get("/program.sha256").body.decode()
        shown = unescape(wire.get("/program").body.decode())
        served = {
            path: hashlib.sha256(wire.get(f"/{path}").body).hexdigest()
            for _, path in (line.split("  ") for line in listed.splitlines())
        }
    assert [f"{sha256}  {path}" for path, sha256 in served.items()] == listed.splitlines()
    assert {
        "web/device/device.js",
        "web/privacy/chance.js",
        "web/page/main.js",
        "web/page/worker.js",
    } <= set(served)
    for path, sha256 in served.items():
        assert path in shown
        assert sha256 in shown
    checked = subprocess.run(
        ["sha256sum", "-c", "--quiet"], input=listed.encode(), cwd=ROOT / "crowdml"
    )
    assert checked.returncode == 0, "as the page says"
    assert hashlib.sha256(PROGRAM.read_bytes()).hexdigest() in shown


def test_a_page_for_phones_names_the_hash_of_its_program(portal: Portal) -> None:
    with portal.connected() as wire:
        reply = wire.get("/join/bare")
        served = wire.get("/web/joined.js").body
        shown = wire.get("/program").body.decode()
    expected = base64.b64encode(hashlib.sha256(served).digest()).decode()
    (script,) = re.findall(r"<script type=.module.*?>", reply.body.decode())
    assert 'src="/web/joined.js?' in script
    assert f'integrity="sha256-{expected}"' in unescape(script)
    assert "script-src 'self';" in reply.headers["content-security-policy"]
    assert served_files()["web/joined.js"] == hashlib.sha256(served).hexdigest()
    assert hashlib.sha256(served).hexdigest() in shown


def test_the_joined_file_has_every_line_of_every_module(portal: Portal) -> None:
    """All but those that import and export."""
    with portal.connected() as wire:
        joined = wire.get("/web/joined.js").body.decode()
    assert joined.count("\n// ---- ") > 60
    for path in program_files():
        # The worker is a file of its own, and other pages have modules of their own.
        if f"// ---- {path.removeprefix('web/')}\n" not in joined:
            continue
        text = re.sub(
            r"^(import|export) [^;]*? from [^;]*;|^export \{[^}]*\};",
            "",
            (ROOT / "crowdml" / path).read_text(),
            flags=re.M,
        )
        for written in text.splitlines():
            if "import.meta.url" not in written:
                assert f"\n{written.removeprefix('export ')}\n" in joined, path
