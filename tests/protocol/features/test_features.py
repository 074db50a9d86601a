"""Test how named readings in their own units become the numbers that a mechanism bounds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.errors import InvalidSample
from crowdml.protocol import Features, Sensor
from crowdml.types import Array

ROOM = Features(
    3, names=("light", "warmth", "hours"), center=(300.0, 21.0, 6.0), scale=(250.0, 3.0, 3.0),
    length=2.0, missing="center",
)  # fmt: skip
STRICT = Features(3, names=ROOM.names)


def slowly(features: Features, row: list[float | None]) -> list[float]:
    """Follow the order of docs/protocol.md, column by column, in plain Python."""
    made = []
    for k, value in enumerate(row):
        z = 0.0
        if value is not None and not np.isnan(value):
            z = value - features.center[k] if features.center else value
            if features.scale:
                z = min(6.0, max(-6.0, z / features.scale[k]))
            z /= features.length
        made.append(z)
    return made


constants = st.builds(
    Features,
    st.just(3),
    center=st.sampled_from([(), (0.3, -7.0, 1e5)]),
    scale=st.sampled_from([(), (0.1, 7.0, 1e-3)]),
    length=st.sampled_from([1.0, 2.9, 0.3]),
)


@settings(deadline=None)
@given(constants, hnp.arrays(np.float64, (4, 3), elements=st.floats(-1e9, 1e9)))
def test_rows_are_scaled_column_by_column(features: Features, rows: Array) -> None:
    found = features.scaled_rows(rows)
    assert found.tolist() == [slowly(features, row) for row in rows.tolist()]
    assert [features.scaled(features.values(row)).tolist() for row in rows] == found.tolist()


def test_a_missing_reading_is_the_center() -> None:
    rows = np.array([[np.nan, 24.0, 6.0], [300.0, np.nan, 9.0]])
    assert ROOM.scaled_rows(rows).tolist() == [[0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]
    by_name = ROOM.values({"warmth": None, "hours": 9, "light": np.float32(300)})
    assert by_name == [300.0, None, 9.0]
    assert ROOM.scaled(by_name).tolist() == [0.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("features", "readings", "words"),
    [
        (ROOM, {"light": 1, "warmht": 2, "hours": 3}, "'warmth' is missing, found 'warmht'. Did"),
        (ROOM, {"light": 1, "warmth": 2}, "'hours' is missing."),
        (ROOM, {"light": 1, "warmth": 2, "hours": 3, "lihgt": 4}, "'lihgt' .* mean 'light'"),
        (ROOM, {"light": 1, "warmth": 2, "hours": 3, "zzz": 4}, "'zzz' is not known. Known are"),
        (ROOM, {"light": 1, "warmth": "hot", "hours": 3}, "'warmth' .* finite number, found 'hot'"),
        (ROOM, [1, float("inf"), 3], "'warmth' must be a finite number, found inf"),
        (ROOM, [1, 10**400, 3], "'warmth' must be a finite number, found 10"),
        (ROOM, [1, [2], 3], "x must be 3 numbers|'warmth' must be a finite number"),
        (ROOM, [1, 2], "x must be 3 numbers, found 2"),
        (STRICT, {"light": 1, "warmth": None, "hours": 3}, "'warmth' must have a number in every"),
        (STRICT, [1, np.nan, 3], "'warmth' must have a number in every sample, found none"),
        (Features(2), {"x0": 1}, "'x1' is missing"),
    ],
)
def test_bad_readings(features: Features, readings: Any, words: str) -> None:
    with pytest.raises(InvalidSample, match=words):
        features.scaled(features.values(readings))


def test_names_of_what_has_none() -> None:
    assert Features(2).column_names == ("x0", "x1")
    assert Features(2, sensor=Sensor("motion")).column_names == ("bin 0", "bin 1")
    louder = Sensor("motion", transform="amplitudes", scale=4)
    assert Features(2, sensor=louder).column_names == ("bin 0/4", "bin 1/4")


def test_people_read_names_and_constants() -> None:
    said = " ".join(map(str, ROOM.sentences))
    assert "light (300 ± 250), warmth (21 ± 3)" in said
    assert "divided by 2." in said
    assert "Where a reading is missing" in said
    assert Features(2).sentences == ()
    assert "980 more" in str(Features(1000, length=2.0).sentences[0])
