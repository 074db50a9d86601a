"""Test that results are a sequence of curves, a table and a picture."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from crowdml.errors import CrowdmlError
from crowdml.simulation import Crowd, Learning, Plan, Results, simulate
from crowdml.simulation.plot import NotebookFigure
from tests.docs.pages import blocks, page
from tests.simulation.toy import classes, numbers

PLANS = [Plan(Crowd(devices=50, batch=2), Learning(epsilon=epsilon)) for epsilon in (4.0, 8.0)]


@pytest.fixture(scope="module")
def results() -> Results:
    return simulate(classes(), PLANS, trials=3, points=5)


def test_they_are_a_sequence(results: Results) -> None:
    first, second = results
    assert (results[0], results[-1], len(results)) == (first, second, 2)
    assert results[:1] == (first,)
    assert results.plans == tuple(PLANS)


def test_a_frame_has_a_row_for_each_plan_trial_and_point(results: Results) -> None:
    pytest.importorskip("pandas")
    frame = results.to_frame()
    assert list(frame) == ["epsilon", "trial", "samples", "error", "online_error"]
    assert len(frame) == 2 * 3 * 6
    found = frame.groupby(["epsilon", "samples"])["error"].mean().to_numpy().reshape(2, 6)
    np.testing.assert_allclose(found, [curve.mean for curve in results])
    one = frame[(frame["epsilon"] == 8.0) & (frame["trial"] == 2)]
    np.testing.assert_array_equal(one["error"], results[1].errors[2])


def test_a_frame_of_numbers_has_residuals() -> None:
    pytest.importorskip("pandas")
    found = simulate(numbers(), [Plan(Crowd(devices=30), Learning(model="huber"))], points=2)
    frame = found.to_frame()
    assert list(frame) == ["trial", "samples", "error", "online_error", "rmse"]
    np.testing.assert_array_equal(frame["rmse"], found[0].rmse[0])


def test_without_pandas_it_is_said(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CrowdmlError, match=r"needs pandas, .* Run: pip install pandas"):
        results.to_frame()


def test_they_draw_themselves(results: Results) -> None:
    figure = results.plot("Two levels")
    (axes,) = figure.axes
    assert axes.get_title() == "Two levels"
    assert [line.get_label() for line in axes.lines] == ["epsilon 4", "epsilon 8"]
    for line, curve in zip(axes.lines, results, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve.mean)


def test_a_notebook_shows_a_table(results: Results) -> None:
    head, *rows = re.findall("<tr>(.*?)</tr>", results._repr_html_())
    names = re.findall("<th>(.*?)</th>", head)
    assert names == ["epsilon", "test error", "check-ins", "ε/person", "ε/sample"]
    for row, curve, epsilon in zip(rows, results, (4, 8), strict=True):
        error = f"{curve.final:.3f} ± {curve.std[-1]:.3f}"
        cells = re.findall("<td>(.*?)</td>", row)
        assert cells == [str(epsilon), error, f"{curve.checkins:.0f}", str(epsilon), *cells[-1:]]
    assert error in results[1]._repr_html_()
    one, other = repr(results).splitlines()
    assert one.startswith(f"epsilon 4, test error {results[0].final:.3f} ± ")
    assert other.startswith("epsilon 8, ")


def test_a_notebook_shows_the_picture(results: Results) -> None:
    for figure in (results.plot(), results[0].plot()):
        assert isinstance(figure, NotebookFigure)
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_one_curve_is_a_frame_too(results: Results) -> None:
    pytest.importorskip("pandas")
    frame = results[0].to_frame()
    assert list(frame) == ["trial", "samples", "error", "online_error"]
    np.testing.assert_array_equal(frame["error"], results[0].errors.ravel())


def test_the_examples_in_the_documents_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = blocks(page("docs/simulate.md"), "python")
    names: dict[str, object] = {}
    exec(first.replace("trials=10", "trials=2"), names)
    one, four = (line.split() for line in capsys.readouterr().out.splitlines())
    assert float(one[1]) > float(four[1])
    assert [float(one[3]), float(four[3])] == [1.0, 4.0]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    pytest.importorskip("pandas")
    exec(second, names)
    assert "epsilon" in capsys.readouterr().out
