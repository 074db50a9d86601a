"""The portal's headers, what it tells about participants, and what it rejects."""

import gzip
import hashlib
import http.client
import re
import sqlite3
from contextlib import closing

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import Watch
from tests.browser.portals import ServePortal
from tests.browser.test_portal_pages import PAGES
from tests.support.servers import PATIENCE, HttpClient, Portal, checkin, enrol, make_task

PAGE = "text/html,*/*;q=0.8"
VISITOR = "127.0.0.9"
"""An address of this machine that is not the server's own."""


@pytest.mark.parametrize("name", PAGES)
def test_headers_of_every_page(wire: HttpClient, name: str) -> None:
    headers = wire.get(PAGES[name][0], accept=PAGE).headers
    policy = {
        directive: sources
        for directive, *sources in map(str.split, headers["content-security-policy"].split(";"))
    }
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"]
    assert policy["form-action"] == ["'self'"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "http" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "set-cookie" not in headers
    # What the back button shows again is asked for anew; the rest is not kept at all.
    kept = name.startswith("task") or name in ("card", "search", "nothing-found", "privacy")
    assert headers["cache-control"] == ("no-cache" if kept else "no-store")


@pytest.mark.parametrize("path", ["charts/error.svg", "hiding.svg?epsilon=1&batch=9", "join.svg"])
def test_pictures_run_nothing(wire: HttpClient, path: str) -> None:
    headers = wire.get(f"/tasks/walking/{path}").headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"


def test_a_script_from_anywhere_is_rejected(desktop: Page, watch: Watch) -> None:
    desktop.goto("/")
    watch.expect("inline script violates the following Content Security Policy directive")
    desktop.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.head.append(script);
        }"""
    )
    assert desktop.evaluate("window.ran") is None


@pytest.mark.parametrize(
    "words", ["<script>window.ran=1</script>", '"><img src=x onerror=alert()>']
)
def test_what_is_searched_for_is_only_text(desktop: Page, words: str) -> None:
    desktop.goto("/")
    desktop.get_by_label("Search").fill(words)
    desktop.get_by_role("button", name="Find").click()
    assert desktop.get_by_label("Search").input_value() == words
    assert desktop.evaluate("window.ran") is None
    assert desktop.locator("main script, main img").count() == 0


def test_files_are_compressed_and_known_again(wire: HttpClient) -> None:
    page = wire.get("/tasks/walking").body.decode()
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
    assert {file.partition("?")[0] for file in files} == {
        "/static/icon.svg",
        "/static/style.css",
        "/static/task.js",
    }
    for file in files:
        plain, small = wire.get(file), wire.get(file, **{"accept-encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert small.headers["content-encoding"] == "gzip"
        assert gzip.decompress(small.body) == plain.body
        assert len(small.body) < len(plain.body)
        assert "immutable" in plain.headers["cache-control"]
        assert wire.get(file.partition("?")[0]).headers["cache-control"] == "no-cache"
        again = wire.get(file, **{"if-none-match": plain.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        assert wire.get(file, **{"if-none-match": '"other"'}).status == 200


def test_the_icon_of_the_site(desktop: Page) -> None:
    desktop.goto("/privacy")
    link = desktop.locator('link[rel="icon"]').get_attribute("href")
    assert link is not None
    for path in (link, "/favicon.ico"):
        icon = desktop.request.get(path)
        assert (icon.status, icon.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../page.py",
        "/static/%2e%2e/page.py",
        "/static/..%2fpage.py",
        "/static/%2e%2e%2f%2e%2e%2fserver%2fstore.py",
        "/static/..\\page.py",
        "/static//etc/passwd",
        "/static/",
        "/static",
        "/web/../portal/page.py",
        "/web/package.json",
        "/web/../../pyproject.toml",
        "/templates/base.html",
    ],
)
def test_no_other_file(wire: HttpClient, path: str) -> None:
    assert wire.get(path, accept=PAGE).status == 404


def test_nobody_learns_who_takes_part(serve_portal: ServePortal) -> None:
    """Neither pages nor answers, nor the log, nor the database have an address or a token."""
    task = make_task("walking")
    portal = serve_portal(task)
    with closing(Visit(portal.port)) as wire:
        tokens = [enrol(wire, "walking") for _ in range(2)]
        for token in tokens:
            sent = wire.call("POST", "/v1/tasks/walking/checkins", checkin(task), token)
            assert sent.status in (200, 201)
        secrets = {VISITOR, *tokens, *names_and_hashes(portal, tokens)}
        for path in ["/", "/tasks/walking", "/tasks/walking/join", "/privacy", "/v1/tasks/walking"]:
            assert_hides(wire.get(path, accept=PAGE).body, secrets)
        for path in ["/v1/tasks", "/v1/tasks/walking/stats", "/v1/tasks/walking/parameters"]:
            assert_hides(wire.get(path).body, secrets)
        for chart in ("error", "labels", "pace", "staleness", "devices"):
            assert_hides(wire.get(f"/tasks/walking/charts/{chart}.csv").body, secrets)
        # Rejected values must not be stored either.
        for path in ["/nowhere", f"/tasks/{tokens[0]}", "/tasks/walking/hiding.svg?epsilon=x"]:
            assert wire.get(path, tokens[0], accept=PAGE).status in (400, 404)
        wire.call("POST", "/v1/tasks/walking/checkins", b"{}", tokens[0])
        wire.call("POST", "/v1/tasks/walking/checkins", b"{}", "wrong")
    assert portal.stop() == 0
    assert portal.complaints == []
    for file in portal.folder.iterdir():
        assert_hides(file.read_bytes(), {VISITOR, *tokens})


class Visit(HttpClient):
    """A visitor with a recognisable address."""

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=PATIENCE, source_address=(VISITOR, 0)
        )


def names_and_hashes(portal: Portal, tokens: list[str]) -> set[str]:
    """Return the names of devices, and their hashes in every usual spelling."""
    with closing(sqlite3.connect(f"file:{portal.file}?mode=ro", uri=True)) as database:
        stored = database.execute("SELECT name, token_sha256 FROM devices").fetchall()
    assert len(stored) == len(tokens)
    assert {hashed for _, hashed in stored} == {
        hashlib.sha256(token.encode()).digest() for token in tokens
    }
    return {name for name, _ in stored} | {hashed.hex() for _, hashed in stored}


def assert_hides(body: bytes, secrets: set[str]) -> None:
    assert body
    assert not [secret for secret in secrets if secret.encode() in body]
