"""Test the progress of a simulation in a notebook, in a terminal, and elsewhere."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from crowdml.simulation import ProgressBar, notebook
from crowdml.simulation.notebook import html_table

CELL = """
from crowdml.simulation import ProgressBar
bar = ProgressBar("counting")
for done in range(3):
    bar(done, 2)
"""


@pytest.fixture(autouse=True)
def _every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "UPDATE_SECONDS", 0.0)


def test_a_terminal_has_a_line_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = ProgressBar("counting")
    for done in range(3):
        bar(done, 2)
    out, err = capsys.readouterr()
    assert out == ""
    begun, half, end = err.split("\r")[1:]
    assert begun.startswith("counting ─")
    assert begun.endswith(" 0%\x1b[K")
    assert half == f"counting {'━' * 20}{'─' * 20} 50%\x1b[K"
    assert end == "\x1b[K"


def test_progress_is_shown_nowhere_else(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar()(1, 2)
    assert capsys.readouterr() == ("", "")


def test_it_is_drawn_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebook, "UPDATE_SECONDS", 3600.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = ProgressBar()
    for done in range(101):
        bar(done, 100)
    assert capsys.readouterr().err.count("\r") == 2, "at its begin and its end"


class Handle(list[str]):
    def update(self, shown: str) -> None:
        self.append(shown)


def test_a_notebook_has_one_display_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that one display is updated in place, with a stand-in for a kernel."""
    shell, display = ModuleType("IPython"), ModuleType("IPython.display")
    handles: list[Handle] = []

    def show(shown: str, display_id: bool) -> Handle:
        handles.append(Handle([shown]))
        return handles[-1]

    monkeypatch.setattr(shell, "get_ipython", lambda: SimpleNamespace(kernel=None), raising=False)
    monkeypatch.setattr(display, "HTML", str, raising=False)
    monkeypatch.setattr(display, "display", show, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    bar = ProgressBar("a <b>")
    for done in range(3):
        bar(done, 2)
    (handle,) = handles
    assert [each.split(">")[-1] for each in handle] == [" 0%", " 50%", " 100%"]
    assert handle[1].startswith('a &lt;b&gt; <progress value="1" max="2">')


def test_a_real_notebook_shows_it() -> None:
    """Run a cell in a kernel, if Jupyter is available; its output must change in place."""
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(made, timeout=120).execute()
    (output,) = made.cells[0].outputs
    data: dict[str, Any] = output["data"]
    assert data["text/html"] == 'counting <progress value="2" max="2"></progress> 100%'


def test_a_table_marks_a_row_and_says_more() -> None:
    table = html_table(["n"], [["1"], ["2"]], ["a < b"], marked=1)
    assert '<tr style="font-weight: bold"><td>2</td>' in table
    assert table.endswith("<p>a &lt; b</p>")
