"""Steering a task: what an owner does takes effect at once, is logged, and cannot be forged."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from typing import Any

import pytest

from crowdml.portal.pages.owner.session import csrf_token
from crowdml.portal.pages.owner.task_page import Invite
from crowdml.protocol import EDITABLE
from crowdml.server.log import ENDED
from tests.portal.owner_browser import NAME, Browser, Portal, fields_of, text_of, wrong_inputs
from tests.support.servers import (
    Reply,
    checkin,
    create,
    direction_checkin,
    enrol,
    enrolled,
    make_task,
    problem_kind,
    rows,
)

CHANGES: dict[str, dict[str, Any]] = {
    "activity": {},
    "forged": {"enrolment__mode": "invite"},
    "forgotten": {},
    "edited": {},
    "mistaken": {},
    "begun": {},
    "states": {},
    "invited": {"enrolment__mode": "invite"},
    "devices": {},
    "german": {},
    "other": {},
    "many": {},
    "short": {"stop__updates": 1},
    "exhausted": {"stop__updates": 1},
    "joined": {},
    "sensed": {"features__sensor.kind": "motion"},
    "reached": {
        "privacy__epsilon": float("inf"),
        "stop__error": 0.9,
        "stop__samples": 3,
        "stop__devices": 1,
        "stop__window": 20,
    },
    "weights": {},
    "people": {"privacy__mechanism": "direction", "privacy__epsilon": 4.0},
}
TASKS = {name: make_task(name, **changes) for name, changes in CHANGES.items()}
TABLES = ("tasks", "devices", "actions", "invites", "sessions", "drafts")


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    create(portal.database, *TASKS.values())
    portal.add_owner()
    yield portal.start()
    assert portal.stop() == 0, portal.output


@pytest.fixture
def owner(portal: Portal) -> Iterator[Browser]:
    with portal.owner() as browser:
        yield browser


def send(owner: Browser, task: str, token: str, seed: int = 0) -> Reply:
    body = checkin(TASKS[task], seed)
    return owner.wire.call("POST", f"/v1/tasks/{task}/checkins", body, token)


def log(portal: Portal, task: str) -> list[tuple[str, str, str]]:
    with portal.store() as store:
        return [(str(a.owner), str(a.action), str(a.detail)) for a in store.owners.actions(task)]


def sent_back(owner: Browser, reply: Reply, words: str) -> bool:
    """Return whether a form led back to the task page, which still has the mistake on reload."""
    address = reply.headers.get("content-location", "")
    again = owner.get(address) if "?wrong=" in address else reply
    alert = re.search(rb'role="alert">([^<]*)<', again.body)
    said = unescape(alert[1].decode()) if alert else ""
    return again is not reply and (reply.status, again.status) == (200, 200) and words in said


def test_nobody_counts_the_samples_of_whole_people(owner: Browser) -> None:
    device, token = enrolled(owner.wire, "people").values()
    body = direction_checkin(TASKS["people"], device)
    assert owner.wire.call("POST", "/v1/tasks/people/checkins", body, token).status == 200
    page = text_of(owner.get("/owner/tasks/people"))
    assert "Moderate privacy ε = 4" in page
    assert device in page
    assert "Samples" not in page
    assert "Samples used" in text_of(owner.get("/owner/tasks/activity"))
    assert "moderate, ε = 4" in text_of(owner.get("/owner?q=people"))


def test_pause_resume_and_stop_take_effect_at_once(portal: Portal, owner: Browser) -> None:
    token = enrol(owner.wire, "states")
    assert send(owner, "states", token, 1).status == 200
    address = "/owner/tasks/states/state"
    reply = owner.send(address, {"state": "paused"})
    assert (reply.status, reply.headers["location"]) == (303, "/owner/tasks/states?done=paused")
    assert problem_kind(send(owner, "states", token, 2)) == "task-paused"
    page = owner.get(reply.headers["location"])
    assert "The task is paused" in text_of(page)
    assert b">Resume<" in page.body
    assert owner.send(address, {"state": "running"}).status == 303
    assert send(owner, "states", token, 3).status == 200
    for confirm in ({}, {"confirm": ""}, {"confirm": "activity"}):
        rejected = owner.send(address, {"state": "stopped"} | confirm)
        assert sent_back(owner, rejected, "To stop the task for good, type its name: states")
        assert list(wrong_inputs(rejected)) == ["confirm"]
    assert send(owner, "states", token, 4).status == 200
    assert sent_back(owner, owner.send(address, {"state": "dancing"}), "found 'dancing'")
    assert owner.send(address, {"state": "stopped", "confirm": "states"}).status == 303
    assert problem_kind(send(owner, "states", token, 5)) == "task-finished"
    for state in ("running", "paused"):
        late = owner.send(address, {"state": state})
        assert sent_back(owner, late, "The task has ended: its owner stopped it.")
    done = [(NAME, "stopped", ""), (NAME, "resumed", ""), (NAME, "paused", "")]
    assert log(portal, "states")[:3] == done
    shown = text_of(owner.get("/owner/tasks/states"))
    assert shown.index("stopped") < shown.rindex("paused")


def test_a_task_that_stopped_in_error_is_reopened(portal: Portal, owner: Browser) -> None:
    address = "/owner/tasks/reached/state"
    early = owner.send(address, {"state": "reopened"})
    assert sent_back(owner, early, "found 'reopened'"), "it runs"
    for seed in range(30):
        token = enrol(owner.wire, "reached")
        body = json.loads(checkin(TASKS["reached"], seed)) | {"errors": 0}
        reply = owner.wire.call(
            "POST", "/v1/tasks/reached/checkins", json.dumps(body).encode(), token
        )
        assert reply.status == 200
        if b">Reopen<" in owner.get("/owner/tasks/reached").body:
            break
    assert problem_kind(send(owner, "reached", token, 99)) == "task-finished"
    late = owner.send(address, {"state": "running"})
    assert sent_back(owner, late, "The task has ended: its target error is reached.")
    reply = owner.send(address, {"state": "reopened"})
    assert reply.headers["location"] == "/owner/tasks/reached?done=reopened"
    assert "The task goes on" in text_of(owner.get(reply.headers["location"]))
    assert send(owner, "reached", token, 99).status == 200
    assert log(portal, "reached")[0] == (NAME, "reopened", f"after check-in {seed + 1}")


def test_a_task_that_made_all_its_check_ins_is_reopened(owner: Browser) -> None:
    token = enrol(owner.wire, "exhausted")
    assert send(owner, "exhausted", token, 1).status == 200
    assert problem_kind(send(owner, "exhausted", token, 2)) == "task-finished"
    page = text_of(owner.get("/owner/tasks/exhausted"))
    assert "or too few: the task then takes 1 check-in more." in page
    owner.send("/owner/tasks/exhausted/state", {"state": "reopened"})
    assert send(owner, "exhausted", token, 3).status == 200


def test_the_owner_is_told_of_joins_from_one_network(portal: Portal, owner: Browser) -> None:
    def crowded() -> bool:
        return "exclude these devices" in text_of(owner.get("/owner/tasks/joined"))

    def join(n: int, visitor: str) -> None:
        with portal.store() as store:
            task = store.task("joined").id
            for _ in range(n):
                store.enrol(task, None, False, visitor)

    for n in range(9):
        join(1, f"198.51.100.{n}")
    assert not crowded()
    join(11, "203.0.113.5")
    page = text_of(owner.get("/owner/tasks/joined"))
    assert "Of the newest 20 devices, 11 joined from one network." in page
    for n in range(3):
        join(1, f"198.51.100.{n}")
    assert not crowded(), "half of them is not most"


def test_a_forged_host_is_in_no_link(owner: Browser) -> None:
    page = owner.wire.get("/tasks/sensed/join", Host="evil.example")
    links = re.findall(r'(?:href|src|action)="([^"]*)"', page.body.decode())
    assert "/join/sensed" in links
    assert not [link for link in links if "evil.example" in link]
    assert page.headers["cache-control"] == "no-store"
    code = owner.wire.get("/tasks/sensed/join.svg", Host="evil.example")
    assert code.headers["cache-control"] == "no-store"


def test_an_invite_is_made_once_and_shown_in_this_session(portal: Portal, owner: Browser) -> None:
    once = fields_of(owner.get("/owner/tasks/invited"))["once"]
    for _ in range(2):  # sending the same form again makes no second invite
        page = owner.send("/owner/tasks/invited/invites", {"uses": "2", "once": once})
    address = page.headers["content-location"]
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    found = re.search(r'<code class="invite">([\w-]+)</code>', page.body.decode())
    assert found
    code = found[1]
    link = f'href="/join/invited#invite={code}">{portal.url}/join/invited#invite={code}<'
    assert link in page.body.decode()
    assert code not in address
    assert code in owner.get(address).body.decode(), "reloading shows it again"
    assert "2 devices may still join" in text_of(page)
    with portal.owner() as later_session:
        assert code not in later_session.get(address).body.decode()
    with closing(sqlite3.connect(portal.file)) as database:
        assert not [line for line in database.iterdump() if code in line]
    enrol(owner.wire, "invited", code)
    later = [owner.get(path) for path in ("/owner", "/owner/tasks/invited", "/tasks/invited")]
    assert "1 device may still join" in text_of(later[1])
    for reply in later:
        assert code not in reply.body.decode()
    assert code not in portal.output
    assert owner.token not in portal.output
    assert log(portal, "invited")[0] == (NAME, "invited", "an invite for 2")
    for uses in ("0", "-1", "", "many", "1.5", "1000001", "9" * 50, "²"):
        reply = owner.send("/owner/tasks/invited/invites", {"uses": uses})
        assert sent_back(owner, reply, "An invite must have 1 to 1,000,000 uses"), uses
        assert (list(wrong_inputs(reply)), fields_of(reply)["uses"]) == (["uses"], uses[:40])


def test_an_invite_is_a_picture_of_its_link(portal: Portal) -> None:
    invite = Invite("abc", 2, f"{portal.url}/join/invited#invite=abc", "/join/invited#invite=abc")
    assert invite.picture.startswith("data:image/svg+xml")
    other = invite._replace(link=f"{portal.url}/join/invited#invite=abd")
    assert invite.picture != other.picture


def test_words_and_end_can_be_edited(portal: Portal, owner: Browser) -> None:
    page = owner.get("/owner/tasks/edited")
    kept = {key: value for key, value in fields_of(page).items() if key in EDITABLE}
    assert kept == {
        "title": "Activity", "objective": "to learn", "stop.updates": "100000", "stop.error": "",
    }  # fmt: skip
    address = "/owner/tasks/edited/edit"
    wrong = {"title": "", "objective": "To walk.", "stop.updates": "many", "stop.error": "2"}
    rejected = owner.send(address, wrong)
    assert sent_back(owner, rejected, "")
    assert "Nothing is changed. 3 things are wrong: Title This" in text_of(rejected)
    for place in ("title", "stop-updates", "stop-error"):
        assert f'<li><a href="#{place}">' in rejected.body.decode()
    assert text_of(rejected).startswith("Error: ")
    assert list(wrong_inputs(rejected)) == ["title", "stop.updates", "stop.error"]
    assert fields_of(rejected)["objective"] == "To walk."
    changes = {"title": "Steps <b>", "objective": "To walk.", "stop.updates": "500"}
    done = owner.send(address, changes | {"stop.error": "0.2"})
    assert done.headers["location"] == "/owner/tasks/edited?done=edited"
    assert "The changes are saved." in text_of(owner.get(done.headers["location"]))
    public = owner.get("/tasks/edited")
    assert "Steps &lt;b&gt;" in public.body.decode()
    assert owner.get("/v1/tasks/edited/stats").json()["max_updates"] == 500
    who, what, detail = log(portal, "edited")[0]
    assert (who, what) == (NAME, "edited")
    assert detail.startswith("title: Activity → Steps <b>; ")
    assert send(owner, "edited", enrol(owner.wire, "edited")).status == 200
    assert "The first check-in has fixed when the task ends" in text_of(
        owner.get("/owner/tasks/edited")
    )
    late = owner.send(address, {"title": "Late", "stop.updates": "9"})
    assert sent_back(owner, late, "")
    assert "Nothing is changed. One thing is wrong: Most check-ins in total" in text_of(late)
    assert log(portal, "edited")[0] == (who, what, detail)
    assert owner.send(address, {"title": "Later"}).status == 303


def test_a_task_that_never_started_can_be_deleted(portal: Portal, owner: Browser) -> None:
    token = enrol(owner.wire, "mistaken")
    assert "1 device already joined." in text_of(owner.get("/owner/tasks/mistaken"))
    address = "/owner/tasks/mistaken/delete"
    wrong = owner.send(address, {"confirm": "mistake"})
    assert sent_back(owner, wrong, "To delete the task, type its name: mistaken")
    assert list(wrong_inputs(wrong)) == ["confirm"]
    gone = owner.send(address, {"confirm": " mistaken "})
    assert gone.headers["location"] == "/owner?done=deleted"
    page = owner.get(gone.headers["location"])
    assert "The task is deleted." in text_of(page)
    assert "/owner/tasks/mistaken" not in page.body.decode()
    assert owner.get("/tasks/mistaken").status == owner.get("/owner/tasks/mistaken").status == 404
    assert problem_kind(send(owner, "mistaken", token)) == "not-found"
    assert log(portal, "mistaken")[0] == (NAME, "deleted", "1 devices had joined")
    assert send(owner, "begun", enrol(owner.wire, "begun")).status == 200
    assert "Delete this task" not in text_of(owner.get("/owner/tasks/begun"))
    begun = owner.send("/owner/tasks/begun/delete", {"confirm": "begun"})
    assert sent_back(owner, begun, "Only a task without check-ins can be deleted")
    assert owner.get("/tasks/begun").status == 200


def test_the_owner_reads_german(owner: Browser) -> None:
    german = {"Accept-Language": "de"}
    pages = {
        path: text_of(owner.get(path, **german))
        for path in ("/owner", "/owner/new", "/owner/tasks/activity", "/owner/sign-in")
    }
    assert "Ihre Aufgaben" in pages["/owner"]
    assert "Höchstzahl aller Beiträge" in pages["/owner/new"]
    assert "Endgültig beenden" in pages["/owner/tasks/activity"]
    assert "angelegt" in pages["/owner/tasks/activity"]
    assert "Für Betreiber von Aufgaben." in pages["/owner/sign-in"]


def test_the_log_and_rejections_are_said_in_german(portal: Portal, owner: Browser) -> None:
    german = {"Accept-Language": "de"}
    device, token = enrolled(owner.wire, "german").values()
    with portal.store() as store:
        store.invites.create(store.task("german").id, 1200, by=NAME)
    assert owner.send("/owner/tasks/german/revoke", {"device": "0"}).status == 303
    words = text_of(owner.get("/owner/tasks/german", **german))
    assert f"ausgeschlossen Gerät {device}" in words
    assert "eingeladen eine Einladung für 1.200" in words
    assert "Kommandozeile angelegt" in words
    assert f"{device[:8]}… {device} ausgeschlossen" in words
    english = text_of(owner.get("/owner/tasks/german"))
    assert "command line created" in english
    assert "invited an invite for 1,200" in english
    gone = owner.get("/tasks/nowhere", **german | {"Accept": "text/html"})
    assert (gone.status, "Es gibt keine Aufgabe 'nowhere'." in text_of(gone)) == (404, True)
    wrong = owner.send("/owner/tasks/german/revoke", {"device": "0"}, **german)
    assert "Diese Aufgabe hat kein solches aktives Gerät." in text_of(wrong)
    rejected = send(owner, "german", token).json()
    assert rejected["detail"] == rejected["template"]
    assert (rejected["template"], rejected["values"]) == (str(ENDED["revoked"]), {})


def test_what_a_person_wrote_is_escaped_in_the_log(portal: Portal, owner: Browser) -> None:
    title = "<b>{n} paused</b>"
    with portal.store() as store:
        store.edit_task("german", {"title": title}, by=NAME)
    for language in ("de", "en"):
        page = owner.get("/owner/tasks/german", **{"Accept-Language": language}).body.decode()
        assert "title: " in page
        assert "→ &lt;b&gt;{n} paused&lt;/b&gt;" in page
        assert "<b>{n}" not in page


def test_a_revoked_device_is_out_at_once(portal: Portal, owner: Browser) -> None:
    tokens = [enrol(owner.wire, "devices") for _ in range(3)]
    stranger = enrol(owner.wire, "other")
    assert all(send(owner, "devices", token, n).status == 200 for n, token in enumerate(tokens))
    address = "/owner/tasks/devices/revoke"
    assert owner.send(address, {"device": "1"}).status == 303
    codes = [send(owner, "devices", token, 9 + n) for n, token in enumerate(tokens)]
    assert [reply.status for reply in codes] == [200, 403, 200]
    assert problem_kind(codes[1]) == "revoked"
    with portal.store() as store:
        names = [device.name for device in store.devices(store.task("devices").id)]
    assert log(portal, "devices")[0] == (NAME, "revoked", f"device {names[1]}")
    for wrong in ("1", "3", "-1", "", "x", names[0], "9" * 40):
        reply = owner.send(address, {"device": wrong})
        assert sent_back(owner, reply, "This task has no such active device."), wrong
    assert send(owner, "other", stranger).status == 200
    page = owner.get("/owner/tasks/devices")
    words = text_of(page)
    assert f"{names[1][:8]}… {names[1]} revoked 1 3 " in words
    assert re.search(rf"{names[0]} .{{0,160}} active 2 6 ", words)
    for token in tokens:
        assert token not in page.body.decode()


def test_devices_are_folded_searched_sorted_and_paged(portal: Portal, owner: Browser) -> None:
    tokens = [enrol(owner.wire, "many") for _ in range(23)]
    for number, checkins in ((7, 2), (11, 1)):
        for n in range(checkins):
            assert send(owner, "many", tokens[number], n).status == 200
    with portal.store() as store:
        names = [device.name for device in store.devices(store.task("many").id)]
        store.set_device_status(names[3], "left")

    def shown(query: str) -> list[str]:
        page = owner.get(f"/owner/tasks/many{query}").body.decode()
        assert page.index('id="model"') < page.index('id="log"') < page.index('id="devices"')
        fold = page[page.index('id="devices"') :]
        assert fold.partition("<details")[2].startswith(" open") == bool(query)
        return re.findall(r'<summary title="(\w+)">', fold)

    assert shown("") == shown("?page=1") == names[:10]
    assert shown("?page=3") == shown("?page=99") == names[20:]
    assert shown("?order=most")[:3] == [names[7], names[11], names[0]]
    assert shown("?order=newest&page=3")[0] == names[20]
    assert set(shown("?order=newest")[:2]) == {names[7], names[11]}
    assert shown("?status=left") == [names[3]]
    assert shown(f"?device={names[5][:12].upper()}") == [names[5]]
    assert shown("?device=%25") == shown("?device=x&status=left") == []
    assert shown("?page=-5&order=x&status=x") == names[:10]
    last = owner.get("/owner/tasks/many?order=most&page=2").body.decode()
    assert "?device=&amp;status=&amp;order=most&amp;page=3#devices" in last


DEEDS: dict[str, dict[str, str]] = {
    "/owner/tasks/forged/state": {"state": "paused"},
    "/owner/tasks/forged/edit": {"title": "Forged"},
    "/owner/tasks/forged/invites": {"uses": "1"},
    "/owner/tasks/forged/revoke": {"device": "0"},
    "/owner/new": {"toml": "", "do": "create"},
    "/owner/tasks/forgotten/delete": {"confirm": "forgotten"},
    "/owner/sign-out": {},
}


@pytest.mark.parametrize("path", DEEDS)
def test_forged_forms_change_nothing(portal: Portal, owner: Browser, path: str) -> None:
    with portal.store() as store:
        store.enrol(store.task("forged").id, None, invite_required=False)
        other = store.owners.open_session(NAME)
    csrf = fields_of(owner.get("/owner"))["csrf"]
    assert csrf == csrf_token(owner.token)
    before = rows(portal.file, *TABLES)
    for wrong in (
        {},
        {"csrf": ""},
        {"csrf": csrf[:-1]},
        {"csrf": "ä"},
        {"csrf": csrf_token(other)},
    ):
        reply = owner.post(path, DEEDS[path] | wrong, Origin=portal.url)
        assert reply.status == 403, wrong
        assert "Nothing was changed" in text_of(reply)
    elsewhere: list[dict[str, str]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": portal.url},
    ]
    for headers in elsewhere:
        reply = owner.post(path, DEEDS[path] | {"csrf": csrf}, **headers)
        assert reply.status == 403, headers
    assert rows(portal.file, *TABLES) == before
    assert owner.get("/owner").status == 200
    same = {"Origin": portal.url, "Sec-Fetch-Site": "same-origin"}
    assert owner.post(path, DEEDS[path] | {"csrf": csrf}, **same).status in (200, 303, 400)
    if path != "/owner/new":
        assert rows(portal.file, *TABLES) != before


def test_pages_that_are_not_there(owner: Browser) -> None:
    assert owner.get("/owner/tasks/nothing").status == 404
    assert owner.send("/owner/tasks/nothing/state", {"state": "paused"}).status == 404
    for path in DEEDS:
        expected = 200 if path == "/owner/new" else 405
        assert owner.get(path).status == expected


def test_the_dashboard_and_the_ended(owner: Browser) -> None:
    token = enrol(owner.wire, "short")
    assert send(owner, "short", token).status == 200
    page = owner.get("/owner?q=short")
    words = text_of(page)
    assert "Finished very weak, ε = 20 1 1 " in words
    assert 'href="/tasks/short/join"' not in page.body.decode(), "nobody can join it"
    assert 'href="/tasks/activity/join"' in owner.get("/owner?q=activity").body.decode()
    ended = owner.get("/owner/tasks/short")
    assert "The task has ended: all its check-ins are in. Its model stays" in text_of(ended)
    assert re.findall(rb'name="state" value="(\w+)"', ended.body) == [b"reopened"]


def test_pages_can_be_read_by_everyone(owner: Browser) -> None:
    for path in ("/owner", "/owner/new", "/owner/tasks/activity", "/owner/sign-in"):
        page = owner.get(path).body.decode()
        assert page.count("<h1") == 1
        ids = re.findall(r'\bid="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        for label in re.findall(r'<label[^>]* for="([^"]+)"', page):
            assert label in ids
        for list_ in re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', page):
            assert set(list_.split()) <= set(ids)
        for tag in re.findall(r"<(?:input|select|textarea)[^>]*>", page):
            named = re.search(r'\bid="([^"]+)"', tag)
            wrapped = re.search(rf"<label[^>]*>(?:(?!</label>).)*{re.escape(tag)}", page, re.S)
            bound = named and f'for="{named[1]}"' in page
            assert 'type="hidden"' in tag or bound or wrapped, tag
        assert not re.search(r'\s(style|on\w+)="', page)
        regions = re.findall('<div class="scroll[^"]*" tabindex="0" role="region"', page)
        assert len(regions) == page.count("<table>")
        names = set(re.findall('role="region" aria-label="([^"]+)"', page))
        assert not names & set(re.findall("<h2[^>]*>([^<]*)</h2>", page)), "two of one name"


def test_a_model_is_offered_in_every_format_with_its_card(owner: Browser) -> None:
    assert send(owner, "weights", enrol(owner.wire, "weights")).status == 200
    page = owner.get("/owner/tasks/weights").body.decode()
    for kind in ("npz", "json", "onnx"):
        address = f"/v1/tasks/weights/export?format={kind}"
        assert f'href="{address}"' in page
        assert "attachment" in owner.get(address).headers["content-disposition"]
    card = owner.get("/tasks/weights/card.md")
    assert 'href="/tasks/weights/card"' in owner.get("/tasks/weights").body.decode()
    assert 'href="/tasks/weights/card.md"' in owner.get("/tasks/weights/card").body.decode()
    assert "attachment" in card.headers["content-disposition"]
    assert (card.status, card.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    assert f"\n# {TASKS['weights'].title}\n" in card.body.decode()


def test_a_model_that_is_not_there_is_not_offered(owner: Browser) -> None:
    create(owner.portal.database, make_task("untaught"))
    while owner.get("/tasks/untaught").status == 404:
        pass
    assert "/card" not in owner.get("/tasks/untaught").body.decode()
    assert owner.get("/tasks/untaught/card").status == 404
    assert "export?format=" not in owner.get("/owner/tasks/untaught").body.decode()
    assert owner.get("/tasks/untaught/card.md").status == 404
