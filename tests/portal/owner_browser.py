"""Run a portal as its operator does, and act as an owner's browser over plain HTTP."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from html.parser import HTMLParser
from typing import ClassVar
from urllib.parse import urlencode

from crowdml.portal.pages import planner
from tests.support import servers
from tests.support.servers import PATIENCE, HttpClient, Reply

NAME, PASSWORD = "ana", "correct horse battery"


def give_time(command: Sequence[str]) -> None:
    """Give simulations more time, and normal priority, because test machines are busy."""
    setattr(os, "setpriority", lambda *given: None)  # noqa: B010
    planner.Planner.__init__.__defaults__ = (command, PATIENCE, 3)


class Portal(servers.Portal):
    """`crowdml serve`, with patience for simulations on a busy machine."""

    simulating: ClassVar[Sequence[str]] = planner.COMMAND

    @property
    def begin(self) -> Callable[[], None]:
        return partial(give_time, self.simulating)

    def add_owner(self, name: str = NAME, password: str = PASSWORD) -> None:
        with self.store() as store:
            store.owners.add(name, password)

    @contextmanager
    def browser(self) -> "Iterator[Browser]":
        with self.connected() as wire:
            yield Browser(self, wire)

    @contextmanager
    def owner(self) -> "Iterator[Browser]":
        """Return a browser with its own session, opened without the sign-in form and its limits."""
        with self.store() as store:
            token = store.owners.open_session(NAME)
        with self.browser() as browser:
            browser.cookies["__Host-crowdml" if self.tls else "crowdml"] = token
            yield browser


@dataclass
class Browser:
    portal: Portal
    wire: HttpClient
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def token(self) -> str:
        (token,) = self.cookies.values()
        return token

    def get(self, path: str, **headers: str) -> Reply:
        return self._call("GET", path, None, headers)

    def post(self, path: str, form: dict[str, str], **headers: str) -> Reply:
        """Send a form exactly as given."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._call("POST", path, urlencode(form).encode(), kind | headers)

    def send(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Reply:
        """Send a form as a page of this session would."""
        csrf = fields_of(self.get("/owner"))["csrf"]
        headers |= {"Origin": self.portal.url}
        return self.post(path, {"csrf": csrf} | (form or {}), **headers)

    def sign_in(self, name: str = NAME, password: str = PASSWORD, **form: str) -> Reply:
        return self.post("/owner/sign-in", {"name": name, "password": password} | form)

    def _call(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"Accept": "text/html"} | headers | ({"Cookie": cookies} if cookies else {})
        reply = self.wire.call(method, path, body, headers=sent)
        found = re.match(r"([^=]+)=([^;]*)", reply.headers.get("set-cookie", ""))
        if found and "Max-Age=0" in reply.headers["set-cookie"]:
            del self.cookies[found[1]]
        elif found:
            self.cookies[found[1]] = found[2]
        to = reply.headers.get("location", "")
        if re.match(r"/owner/(new\?draft=|tasks/[a-z0-9-]+\?(invite|wrong)=)", to):
            # Follow the redirect, so that a test sees the page with the result.
            reply = self._call("GET", to, None, _language(headers))
            return replace(reply, headers={**reply.headers, "content-location": to})
        return reply


def _language(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name == "Accept-Language"}


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        name = found.get("name", "")
        match tag:
            case "input" if found.get("type") != "checkbox" or "checked" in found:
                self.values[name] = found.get("value", "")
            case "textarea":
                self._textarea, self.values[name] = name, ""
            case "select":
                self._select = name
            case "option" if "selected" in found:
                self.values[self._select] = found["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            before = self.values[self._textarea]
            self.values[self._textarea] = before + (data if before else data.removeprefix("\n"))


def fields_of(reply: Reply) -> dict[str, str]:
    """Return what the forms of a page would send, by name."""
    form = _Form()
    form.feed(reply.body.decode())
    return form.values


def text_of(reply: Reply) -> str:
    """Return the words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", reply.body.decode())).split())


def wrong_inputs(reply: Reply) -> dict[str, str]:
    """Return the inputs that are marked as wrong, by name, with their descriptions."""
    page, found = reply.body.decode(), {}
    for tag in re.findall(r'<(?:input|textarea|select)[^>]*aria-invalid="true"[^>]*>', page):
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        (about,) = re.findall(r"[\w-]+-wrong", attributes["aria-describedby"])
        (words,) = re.findall(rf'<div class="wrong" id="{re.escape(about)}">(.*?)</div>', page)
        found[attributes["name"]] = " ".join(unescape(re.sub("<[^>]*>", " ", words)).split())
    return found
