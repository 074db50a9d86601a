"""The form that a pilot fills in."""

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crowdml.learnt import read_start
from crowdml.portal.pages.owner.form_parsing import LARGEST_FILE
from tests.portal.owner_browser import Browser, Portal, fields_of, text_of
from tests.support.servers import Reply

WORDS = {
    "name": "warmth",
    "objective": "To learn when a room is comfortable.",
    "owner": "Ana, Example University",
    "contact": "ana@example.org",
    "purpose": "A free app.",
    "sensors": "A thermometer and a light sensor.",
}


def pilot(n: int = 60) -> bytes:
    rng = np.random.default_rng(1)
    lines = ["temperature [°C],light,note,person,vote"]
    for k in range(n):
        cold = k % 5 < 2
        warmth, light = 24 - 6 * cold + rng.normal(), 300 + 40 * rng.normal()
        lines.append(f"{warmth:.2f},{light:.1f},same,{k % 6},{'cold' if cold else 'fine'}")
    return "\n".join(lines).encode()


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    portal.folder.mkdir(exist_ok=True)
    with portal.store() as store:
        store.owners.add("ana", "correct horse battery")
    yield portal.start()
    assert portal.stop() == 0, portal.output


def form_of(reply: Reply) -> dict[str, str]:
    """What the form itself would send, without the task file that could be pasted instead."""
    return {name: value for name, value in fields_of(reply).items() if name != "toml"}


def upload(
    browser: Browser, data: bytes, form: dict[str, str] | None = None, **headers: str
) -> Reply:
    """Send the form with a file, as a page of this session would."""
    csrf = fields_of(browser.get("/owner"))["csrf"]
    part = 'Content-Disposition: form-data; name="{}"\r\n\r\n'
    body = b"".join(
        b"--limit\r\n" + part.format(name).encode() + value.encode() + b"\r\n"
        for name, value in ({"csrf": csrf} | (form or {})).items()
    )
    body += b"--limit\r\n" + part.format('pilot"; filename="pilot.csv').encode() + data
    kind = {"Content-Type": "multipart/form-data; boundary=limit", "Origin": browser.portal.url}
    return browser._call("POST", "/owner/new/pilot", body + b"\r\n--limit--\r\n", kind | headers)


def test_a_pilot_fills_in_the_form_and_becomes_the_start(portal: Portal) -> None:
    with portal.owner() as browser:
        filled = upload(browser, pilot(), {"owner": "typed before"})
        form = form_of(filled)
        assert filled.status == 200, text_of(filled)
        assert form["features.names"].split() == ["temperature", "light"]
        assert len(form["features.center"].split()) == len(form["features.scale"].split()) == 2
        assert form["target.labels"].split() == ["fine", "cold"]
        assert form["owner"] == "typed before", "what people wrote stays"
        assert float(form["privacy.epsilon"]) == 1
        assert "60 rows" in text_of(filled)
        assert "note" in text_of(filled), "a column that was left out is named"
        start = read_start(base64.b64decode(form["start"]), "it")
        assert (start.rows, start.people) == (60, 6)

        wrong = browser.send("/owner/new", form | WORDS | {"title": "", "do": "preview"})
        assert wrong.status == 200
        kept = form_of(wrong)
        assert kept["start"] == form["start"], "an error elsewhere forgets nothing"

        words = {"title": "Is it warm?", "model.pilot": "two colleagues", "do": "create"}
        made = browser.send("/owner/new", kept | WORDS | words)
        assert made.status == 303, text_of(made)
        page = text_of(browser.get("/tasks/warmth"))
        assert "starts from a pilot of 60 samples of 6 people (two colleagues)" in page
        assert "The pilot alone is wrong in" in page
    with portal.store() as store:
        task = store.task("warmth").task
    assert task.w0 is not None
    assert np.allclose(task.w0, start.w)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "must be a file of at most 10 MB, found none"),
        (b"a,y\n1,x\ntwo,z\n" + b"3,x\n4,z\n" * 20, "line 3, column 'a': must be a finite number"),
        (b"a,y\n" + b"1,x\n2,x\n" * 30, "must have two labels or more"),
        (b"a,a,y\n1,2,x\n", "a"),
    ],
)
def test_a_file_that_is_no_pilot(portal: Portal, data: bytes, said: str) -> None:
    with portal.owner() as browser:
        reply = upload(browser, data, {"title": "kept"})
    assert reply.status == 200
    assert said in text_of(reply)
    assert form_of(reply)["title"] == "kept"


def test_in_german(portal: Portal) -> None:
    with portal.owner() as browser:
        german: Any = {"Accept-Language": "de"}
        assert "60 Zeilen" in text_of(upload(browser, pilot(), **german))
        wrong = upload(browser, b"a,y\n1,x\ntwo,z\n" + b"3,x\n4,z\n" * 20, **german)
        assert "Zeile 3, Spalte 'a'" in text_of(wrong)


def test_what_a_crowd_adds(portal: Portal) -> None:
    with portal.owner() as browser:
        crowd = {"pilot-devices": "40", "pilot-samples": "10", "crowd-leaving": "0.3"}
        filled = upload(browser, pilot(), crowd)
        form = form_of(filled)
        assert "If no device left early, the error would be" in text_of(filled)
        assert "Recommended: ε =" in text_of(filled)
        assert (form["collection.batch"], form["stop.updates"]) == ("10", "40")
        preview = browser.send("/owner/new", form | WORDS | {"do": "preview"})
        assert "Recommended: ε =" in text_of(preview)


def test_what_no_page_sends(portal: Portal) -> None:
    with portal.owner() as browser:
        form = form_of(upload(browser, pilot())) | WORDS
        for text in ("no start", base64.b64encode(b"PK").decode()):
            reply = browser.send("/owner/new", form | {"start": text, "do": "create"})
            assert reply.status == 200
            assert "must be the start that the form had" in text_of(reply)
        other = form | {"features.length": "9.5", "do": "create"}
        reply = browser.send("/owner/new", other | {"title": "Other", "name": "other"})
        assert "must be fitted to rows with the task's features.length" in text_of(reply)
        too_large = upload(browser, b"x" * (LARGEST_FILE + 1))
        assert too_large.status == 200
        assert "at most 10 MB" in text_of(too_large)
        foreign = upload(browser, pilot(), Origin="https://evil.example")
        assert foreign.status == 403
