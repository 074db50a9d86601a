"""Drive Debian's Firefox through WebDriver BiDi.

Playwright supports BiDi with newer versions only, and its own Firefox is another program. Tests
need little of the protocol: open a page, look for something, click, type, collect complaints.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.servers import PATIENCE

LEAVING = "was interrupted while the page was loading"
"""Firefox says so of an event stream whose page is left."""

FIND = """(() => {
    const found = [...document.querySelectorAll(%s)].filter((each) => each.checkVisibility()
        && !each.disabled && each.innerText.includes(%s));
    found[0]?.scrollIntoView({ block: "center" });
    return found[0];
})()"""


def find_firefox() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One tab.

    Args:
        socket: To a browser that listens.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._ids = socket, count(1)
        self.complaints: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._tab = self._ask("browsingContext.create", type="tab")["context"]

    def open(self, url: str) -> None:
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def look(self, expression: str) -> Any:
        """Evaluate a JavaScript expression: a text, a number, or an element to click on."""
        target = {"context": self._tab}
        answer = self._ask(
            "script.evaluate", expression=expression, target=target, awaitPromise=True
        )
        if answer["type"] != "success":
            raise AssertionError(answer["exceptionDetails"]["text"])
        found = answer["result"]
        return found if found["type"] == "node" else found.get("value")

    def see(self, selector: str, text: str = "") -> Any:
        """Wait until an element with this text is visible and usable."""
        end = time.monotonic() + PATIENCE
        while not (found := self.look(FIND % (json.dumps(selector), json.dumps(text)))):
            main = self.look("document.querySelector('main').innerText")
            assert time.monotonic() < end, f"no {selector} with {text!r} in: {main}"
            time.sleep(0.05)
        return found

    def click(self, selector: str, text: str = "") -> None:
        element = {"sharedId": self.see(selector, text)["sharedId"]}
        actions = [
            {
                "type": "pointerMove",
                "x": 0,
                "y": 0,
                "origin": {"type": "element", "element": element},
            },
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._do({"type": "pointer", "id": "mouse", "actions": actions})

    def type(self, selector: str, text: str) -> None:
        self.click(selector)
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._do({"type": "key", "id": "keyboard", "actions": keys})

    def _do(self, source: dict[str, Any]) -> None:
        self._ask("input.performActions", context=self._tab, actions=[source])

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message["type"] == "event":
                entry = message["params"]
                if entry["level"] in ("error", "warn") and LEAVING not in entry["text"]:
                    self.complaints.append(entry["text"])
            elif message["id"] == number:
                assert message["type"] == "success", message
                return message["result"]


@contextmanager
def firefox(program: str, profile: Path) -> Iterator[Firefox]:
    command = [program, "--headless", "--no-remote", "--remote-debugging-port", "0"]
    with (profile / "said").open("w") as said:
        process = subprocess.Popen(
            [*command, "--profile", str(profile)], stdout=subprocess.DEVNULL, stderr=said
        )
    try:
        with connect(f"{_address(profile / 'said')}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _address(said: Path) -> str:
    end = time.monotonic() + PATIENCE
    while not (found := re.search(r"WebDriver BiDi listening on (\S+)\n", said.read_text())):
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.05)
    return found[1]
