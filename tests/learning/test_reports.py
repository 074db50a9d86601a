"""Test that reports share what does not change, in a bounded number of rows."""

import math
from collections import defaultdict

import numpy as np
import pytest

from crowdml.learning import Reports, current_error

MOST_ROWS, GROUPS = 8192, 256


def test_reports_share_nothing_that_changes() -> None:
    """Check that each value stays as it was after two others were made from it."""
    made = [(Reports(), [[0.0] * 5][:0])]
    for i in range(1, 60):
        reports, rows = made[i // 2]
        new = reports.with_report(version=i, device=2 * i, errors=i / 7, evaluated=3)
        made.append((new, [*rows, [i, 2 * i, i / 7, 3, 1]]))
    for reports, rows in made:
        assert reports.rows.tolist() == rows
        assert len(reports) == len(rows)
        assert Reports(reports.rows).rows.tolist() == rows
    assert made[1][0]._numbers is made[2][0]._numbers, "only the second makes a copy"


def test_many_reports_fit_into_few_rows() -> None:
    """Check that compressed rows keep all relevant sums.

    A copy that was stored and read back continues in the same way.
    """
    rng = np.random.default_rng(0)
    reports, again, every = Reports(), Reports(), []
    for version in range(3 * MOST_ROWS):
        row = (version, int(rng.integers(1000)), float(rng.random() < 0.3), 1)
        reports = reports.with_report(*row)
        again = again.with_report(*row)
        if version == 2 * MOST_ROWS:
            again = Reports(again.rows)
        every.append([*row, 1.0])
        assert len(reports) <= MOST_ROWS
    assert reports.rows.tobytes() == again.rows.tobytes()
    rows, all_rows = reports.clustered, np.array(every)
    assert rows[:, 1].max() < GROUPS
    near = all_rows[all_rows[:, 0] >= rows[:, 0].min()]
    assert rows[:, 4].sum() == pytest.approx(len(near), rel=0.02)
    found, plain = (current_error(each, 3 * MOST_ROWS, 0.01) for each in (rows, all_rows))
    assert found is not None
    assert plain is not None
    assert found.value == pytest.approx(plain.value, abs=plain.margin / 4)
    assert plain.margin * 0.98 < found.margin < 1.3 * plain.margin


def test_what_is_added_up() -> None:
    """Compare the rows with sums for each group of devices and each twelfth of log-version.

    Reports about versions below 59/e − 1 are dropped.
    """
    rng = np.random.default_rng(1)
    columns = (
        rng.integers(low, high, MOST_ROWS) for low, high in ((0, 59), (0, 1000), (0, 9), (9, 30))
    )
    rows = np.column_stack([*columns, rng.integers(1, 4, MOST_ROWS)]).astype(float)
    sums: defaultdict[tuple[int, float], list[float]] = defaultdict(lambda: [0.0] * 4)
    for version, device, errors, evaluated, reports in rows.tolist():
        if version >= 21:
            own = sums[math.floor(12 * math.log(version + 1)), device % GROUPS]
            for i, each in enumerate((version * evaluated, errors, evaluated, reports)):
                own[i] += each
    expected = [[own[0] / own[2], key[1], *own[1:]] for key, own in sorted(sums.items())]
    found = Reports(rows).with_report(59, 300, 2.0, 10)
    assert found.rows.tolist() == [*expected, [59, 300, 2, 10, 1]]


@pytest.mark.parametrize(("reports", "device"), [(1, 300), (2, 300 - GROUPS)])
def test_devices_are_grouped_once_reports_are_added_up(reports: int, device: int) -> None:
    rows = np.array([[5.0, 300.0, 2.0, 10.0, reports]])
    assert Reports(rows).clustered.tolist() == [[5, device, 2, 10, reports]]
