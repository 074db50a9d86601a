"""Signing in and out: who gets in, for how long, with which cookie, and how often one may try."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from crowdml.portal.pages.owner.signin import safe_next
from tests.portal.owner_browser import NAME, PASSWORD, Portal, fields_of, text_of
from tests.support.servers import create, make_task, rows

WRONG = "This name and password do not belong together."

TABLES = ("tasks", "devices", "actions", "invites", "sessions")


@pytest.fixture
def name(portal: Portal, request: pytest.FixtureRequest) -> str:
    """An owner whose attempts nobody else has used."""
    name: str = request.node.name[:63]
    portal.add_owner(name)
    return name


def test_the_right_password_opens_a_session(portal: Portal, name: str) -> None:
    with portal.browser() as browser:
        reply = browser.sign_in(name, next="/owner/new")
        assert (reply.status, reply.headers["location"]) == (303, "/owner/new")
        cookie = reply.headers["set-cookie"]
        assert cookie.startswith("crowdml=")
        assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"} <= set(cookie.split("; "))
        assert "Secure" not in cookie
        page = browser.get("/owner")
        assert (page.status, page.headers["cache-control"]) == (200, "no-store")
        assert name in text_of(page)
        assert browser.token not in page.body.decode()
        old = browser.token
        assert browser.sign_in(name).status == 303
        assert browser.token != old
        browser.cookies["crowdml"] = old
        assert browser.get("/owner").status == 303, "a new session replaces the browser's old one"
    with closing(sqlite3.connect(portal.file)) as database:
        assert old not in repr(database.execute("SELECT * FROM sessions").fetchall())
    with portal.browser() as other:
        assert "For owners" in text_of(other.get("/"))
        assert other.get("/owner").status == 303


def test_without_owners_the_page_says_how_to_add_one_and_tls_makes_the_cookie_secure(
    tmp_path: Path,
) -> None:
    portal = Portal(tmp_path, tls="self-signed")
    portal.start()
    try:
        with portal.browser() as browser:
            assert "crowdml owner add NAME" in text_of(browser.get("/owner/sign-in"))
            portal.add_owner()
            assert "crowdml owner add NAME" not in text_of(browser.get("/owner/sign-in"))
            cookie = browser.sign_in().headers["set-cookie"]
            assert cookie.startswith("__Host-crowdml=")
            parts = set(cookie.split("; "))
            assert {"HttpOnly", "SameSite=strict", "Path=/", "Secure"} <= parts
            assert not any(part.startswith("Domain") for part in parts)
            assert browser.get("/owner").status == 200
            browser.cookies = {"crowdml": browser.token}
            assert browser.get("/owner").status == 303, "only the secure cookie counts over TLS"
    finally:
        portal.kill()


def test_behind_something_that_adds_tls_the_cookie_is_secure_too(portal: Portal, name: str) -> None:
    with portal.browser() as browser:
        form = {"name": name, "password": PASSWORD}
        reply = browser.post("/owner/sign-in", form, Origin=f"https://127.0.0.1:{portal.port}")
        assert reply.status == 303
        assert reply.headers["set-cookie"].startswith("__Host-crowdml=")
        assert browser.get("/owner").status == 200


def test_an_unknown_name_and_a_wrong_password_look_the_same(portal: Portal, name: str) -> None:
    with portal.browser() as browser:
        wrong, unknown = browser.sign_in(name, "x" * 12), browser.sign_in("nobody", PASSWORD)
        for reply in (wrong, unknown):
            assert reply.status == 403
            assert "set-cookie" not in reply.headers
            assert f'role="alert" id="wrong">{WRONG}' in reply.body.decode()
        shown = f'value="{name}"'.encode()
        assert wrong.body.replace(shown, b'value="nobody"') == unknown.body
        assert fields_of(wrong)["password"] == ""


def test_attempts_are_limited_by_name(portal: Portal, name: str) -> None:
    with portal.browser() as browser:
        attempts = (browser.sign_in(name, "wrong word") for _ in range(100))
        codes = []
        for reply in attempts:
            codes.append(reply.status)
            # On a slow machine a new attempt may be due at once; wait for one that is not.
            if reply.status == 429 and int(reply.headers["retry-after"]) >= 5:
                break
        assert codes[:5] == [403] * 5
        right = browser.sign_in(name)
        assert right.status == 429, "even the right password waits"
        assert 1 <= int(right.headers["retry-after"]) <= 10
        assert "set-cookie" not in right.headers
        assert "Too many attempts" in text_of(right)
        assert browser.sign_in("somebody").status == 403


def test_many_names_do_not_keep_an_owner_out(portal: Portal, name: str) -> None:
    with portal.browser() as browser:
        codes = {browser.sign_in(f"other{n}").status for n in range(12)}
        assert codes == {403}
        assert browser.sign_in(name).status == 303


def test_only_so_many_passwords_wait_to_be_compared(portal: Portal) -> None:
    def attempt(n: int) -> int:
        with portal.browser() as browser:
            return browser.sign_in(f"name{n}").status

    with ThreadPoolExecutor(40) as pool:
        codes = list(pool.map(attempt, range(40)))
    assert set(codes) == {403, 429}
    assert codes.count(403) >= 16


@pytest.fixture
def fronted(tmp_path: Path) -> Iterator[Portal]:
    """Behind a proxy of this machine that says who visits."""
    portal = Portal(tmp_path, options=("--trust-proxy", "127.0.0.1"))
    create(portal.database, make_task("activity"))
    portal.add_owner()
    yield portal.start()
    portal.kill()


def signing_in(portal: Portal, address: str, name: str, password: str) -> int:
    with portal.browser() as browser:
        form = {"name": name, "password": password, "next": ""}
        body = urlencode(form).encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": f"198.51.100.77, {address}",
        }
        return browser.wire.call("POST", "/owner/sign-in", body, headers=headers).status


def test_strangers_who_know_a_name_keep_nobody_out(fronted: Portal) -> None:
    for _ in range(8):
        stranger = signing_in(fronted, "203.0.113.5", NAME, "wrong word")
    assert stranger == 429
    assert signing_in(fronted, "203.0.113.6", NAME, PASSWORD) == 303


def test_strangers_at_the_door_keep_nobody_out(fronted: Portal) -> None:
    """Forty at once from one address have two places; an owner from another one has one, too."""

    def attempt(n: int) -> int:
        return signing_in(fronted, "203.0.113.5", f"name{n}", "wrong word")

    with ThreadPoolExecutor(41) as pool:
        strangers = pool.map(attempt, range(40))
        owner = pool.submit(signing_in, fronted, "2001:db8::1", NAME, PASSWORD)
        assert owner.result() == 303
        assert set(strangers) <= {403, 429}


def test_too_long_is_rejected(portal: Portal) -> None:
    with portal.browser() as browser:
        for name, password in (("x" * 64, PASSWORD), (NAME, "x" * 1001)):
            reply = browser.sign_in(name, password)
            assert (reply.status, "too long" in text_of(reply)) == (400, True)
        assert browser.sign_in(NAME, "x" * 20_000).status == 413
        assert browser.post("/owner/sign-in", {f"field{n}": "" for n in range(101)}).status == 400
        wrong_kind = {"Content-Type": "multipart/form-data; boundary=x"}
        assert browser.post("/owner/sign-in", {}, **wrong_kind).status == 400


@pytest.mark.parametrize(
    "path", ["/owner", "/owner/new", "/owner/tasks/activity", "/owner/tasks/activity?from=100"]
)
def test_without_a_session_pages_lead_to_signing_in_and_back(portal: Portal, path: str) -> None:
    with portal.browser() as browser:
        for cookie in ({}, {"crowdml": "made-up"}, {"crowdml": '"\\"'}):
            browser.cookies = dict(cookie)
            reply = browser.get(path)
            assert reply.status == 303
            assert fields_of(browser.get(reply.headers["location"]))["next"] == path


@pytest.mark.parametrize(
    "path",
    ["new", "sign-out", "tasks/activity/state", "tasks/activity/invites", "tasks/activity/revoke"],
)
def test_without_a_session_nothing_can_be_done(portal: Portal, path: str) -> None:
    before = rows(portal.file, *TABLES)
    with portal.browser() as browser:
        form = {"state": "paused", "uses": "1", "device": "0", "csrf": ""}
        reply = browser.post(f"/owner/{path}", form)
        if path == "sign-out":
            assert (reply.status, reply.headers["location"][:14]) == (303, "/owner/sign-in")
        else:
            assert (reply.status, "sign-in-password" in fields_of(reply)) == (403, True)
    assert rows(portal.file, *TABLES) == before


@pytest.mark.parametrize(
    "next",
    [
        "https://evil.example/owner", "//evil.example/owner", "/\\evil.example", "/owner\\@evil",
        "/owner//evil.example", "/owner/../tasks", "/ownership", "/tasks/activity", "owner", "",
        "javascript:alert(1)", "/owner\r\nSet-Cookie: a=b", "/owner\n", "/owner/sign-in",
        "/owner/sign-out", "/owner?next=//evil.example",
    ],
)  # fmt: skip
def test_only_the_owners_area_follows_signing_in(portal: Portal, next: str) -> None:
    assert safe_next(next) == "/owner"
    with portal.browser() as browser:
        page = browser.post("/owner/sign-in", {"name": "x" * 64, "next": next})
        assert fields_of(page)["next"] == "/owner"


def test_signing_out_ends_the_session(portal: Portal) -> None:
    with portal.owner() as browser:
        token = browser.token
        assert browser.get("/owner/sign-out").status == 405
        reply = browser.send("/owner/sign-out")
        assert (reply.status, reply.headers["location"]) == (303, "/owner/sign-in")
        assert not browser.cookies
        browser.cookies["crowdml"] = token
        assert browser.get("/owner").status == 303


def test_a_forged_sign_in_is_rejected(portal: Portal) -> None:
    forged = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{portal.port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": portal.url, "Sec-Fetch-Site": "cross-site"},
    ]
    with portal.browser() as browser:
        for headers in forged:
            reply = browser.post("/owner/sign-in", {"name": NAME, "password": PASSWORD}, **headers)
            assert (reply.status, "set-cookie" in reply.headers) == (403, False), headers
            assert "did not come from a form of this site" in text_of(reply)
