"""Check on a terminal that the portal stays open until Ctrl-C, with the demo's extra alone."""

import os
import pty
import re
import signal
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.packaging.clean import clean_python


@pytest.mark.xdist_group("packaging")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_portal_stays_open_on_a_terminal(tmp_path: Path) -> None:
    command, python = Command(tmp_path, {"PYTHONPATH": ""}), str(clean_python("demo"))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests may be started ignoring it
        arguments = ["-m", "crowdml", "demo", "--seconds", "2", "--devices", "18"]
        os.execvpe(python, [python, *arguments], command.environment)
    shown = b""
    while b"Press Ctrl-C to end." not in shown:
        shown += os.read(terminal, 65536)
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode()
    address = re.findall(r"stays open: (https://[\w.:/-]+)", plain)[-1]
    page = _get(address)
    assert "What is the owner of this phone doing?" in page
    assert "Finished" in page
    for path in ("charts/error.svg", "hiding.svg?epsilon=4&batch=52", "join.svg"):
        assert "<svg" in _get(f"{address}/{path}")
    os.write(terminal, b"\x03")
    try:
        while more := os.read(terminal, 65536):
            shown += more
    except OSError:
        pass  # Linux raises this when the other end of a terminal is closed.
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"Traceback" not in shown
    with pytest.raises(urllib.error.URLError):
        _get(address)


def _get(address: str) -> str:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(address, timeout=120, context=context) as answer:
        text: str = answer.read().decode()
    return text
