"""Test the way from readings to samples: when a sample is taken, from which window, and its x."""

import math

import numpy as np
import pytest

from crowdml.device.sources.recording import read_readings
from crowdml.device.sources.sensing import Sensing, TakenSample, features_of
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.protocol import Features, Sensor

Reading = tuple[float, float, float | None]


def collect(sensor: Sensor, readings: list[Reading], count: int = 1) -> list[TakenSample]:
    sensing = Sensing(sensor, count)
    return [taken for reading in readings for taken in sensing.push(*reading)]


def steady(seconds: float, rate: float, label: float | None = 0, start: float = 0) -> list[Reading]:
    return [(start + k / rate, 1.0 + k, label) for k in range(round(seconds * rate))]


def test_more_readings_than_ticks_take_the_newest() -> None:
    (taken,) = collect(Sensor("motion", rate=2, window=3, every=9), steady(1.2, 10))
    assert taken.time == 1.0
    assert taken.window.tolist() == [1.0, 6.0, 11.0]


def test_fewer_readings_than_ticks_are_held() -> None:
    (taken,) = collect(Sensor("motion", rate=4, window=5, every=9), steady(3, 1.25))
    assert taken.window.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]


def test_windows_slide_and_samples_keep_their_distance() -> None:
    found = collect(Sensor("motion", rate=8, window=5, every=1.0), steady(5, 8))
    assert [taken.time for taken in found] == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert found[1].window.tolist() == [9.0, 10.0, 11.0, 12.0, 13.0]


def test_a_new_label_starts_a_new_window() -> None:
    sensor = Sensor("motion", rate=10, window=5, every=0)
    readings: list[Reading] = [(t, r, 0.0 if t < 0.7 else 1.0) for t, r, _ in steady(2, 10)]
    for taken in collect(sensor, readings):
        assert (taken.window >= 8).all() == (taken.y == 1.0)
    assert {taken.y for taken in collect(sensor, readings)} == {0.0, 1.0}


def test_only_when_the_label_has_changed() -> None:
    sensor = Sensor("motion", rate=10, window=2, every=0, trigger="label-change")
    labels = [0.0] * 20 + [1.0] * 20 + [None] * 20 + [1.0] * 20 + [0.0] * 20
    readings = [(k / 10, 1.0, label) for k, label in enumerate(labels)]
    assert [taken.y for taken in collect(sensor, readings)] == [0.0, 1.0, 0.0]


def test_nothing_is_collected_without_a_label() -> None:
    assert not collect(Sensor("motion", rate=10, window=1, every=0), steady(5, 10, label=None))


def test_a_gap_starts_a_new_window() -> None:
    sensor = Sensor("motion", rate=10, window=5, every=0)
    found = collect(sensor, steady(0.4, 10) + steady(1, 10, start=2.0))
    assert found[0].time == pytest.approx(2.4)
    assert found[0].window.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_nonsense_is_skipped() -> None:
    sensing = Sensing(Sensor("motion", rate=1, window=1, every=0), 1)
    assert not sensing.push(0.0, 1.0, 0)
    for time, reading in ((0.5, math.nan), (0.6, math.inf), (0.0, 5.0), (-1.0, 5.0)):
        assert not sensing.push(time, reading, 0)
    (taken,) = sensing.push(0.9, 7.0, 0)
    assert taken.window.tolist() == [1.0]


@pytest.mark.parametrize("count", [1, 33, 64])
@pytest.mark.parametrize("first_bin", [0.0, 0.1, 1.0])
def test_the_spectrum_is_the_papers(count: int, first_bin: float) -> None:
    window = np.random.default_rng(1).normal(9.81, 3, size=64)
    time = np.arange(64)
    slow = [abs((window * np.exp(-2j * np.pi * k * time / 64)).sum()) for k in range(count)]
    slow[0] *= first_bin
    x = features_of(Sensor("motion", first_bin=first_bin), count, window)
    expected = np.array(slow) / sum(slow) if sum(slow) else np.zeros(count)
    np.testing.assert_allclose(x, expected, rtol=1e-9)
    scaled = Sensor("motion", transform="amplitudes", first_bin=first_bin, scale=50)
    np.testing.assert_allclose(
        features_of(scaled, count, window), np.array(slow) / 50, rtol=1e-9, atol=1e-12
    )


def test_silence_has_no_spectrum() -> None:
    assert features_of(Sensor("sound"), 3, np.zeros(64)).tolist() == [0.0, 0.0, 0.0]


def test_values_are_scaled() -> None:
    sensor = Sensor("manual", transform="values", scale=4, fields=("a", "b"))
    assert features_of(sensor, 2, [1.0, 2.0]).tolist() == [0.25, 0.5]


FEATURES = Features(4, sensor=Sensor("motion", rate=2, window=2, every=0, transform="summary"))


def test_a_recording_gives_what_the_readings_give() -> None:
    lines = ["time,x,y,z,label", *(f"{k / 2},3,4,{12 * (k % 2)},walk" for k in range(6))]
    assert (
        list(read_readings(lines, FEATURES, ["still", "walk"]))
        == [([9.0, 4.0, 5.0, 13.0], "walk")] * 4
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1,2,3,walk", "line 2: expected time, one reading or three, and a label, found 4"),
        ("1,a,walk", "line 2: times and readings must be numbers, found 'a'"),
        ("walk", "line 2: expected time, one reading or three, and a label, found 1 columns"),
        ("-1,2,walk", "line 2: times must rise, found -1.0 after 0.0"),
        ("inf,2,walk", "line 2: times must be finite, found inf"),
        ("nan,2,walk", "line 2: times must be finite, found nan"),
        ('"1,2,walk', "line 2: times and readings must be numbers, found '\"1'"),
        ("1," + 200_000 * "2" + ",walk", "line 2: cannot be read: field larger than field limit"),
    ],
)
def test_a_wrong_line_is_named_and_the_rest_goes_on(line: str, sentence: str) -> None:
    lines = ["0,1,walk", line, "0.5,1,walk", "1,1,walk"]
    found = list(read_readings(lines, FEATURES, ["still", "walk"]))
    assert isinstance(found[0], InvalidSample)
    assert str(found[0]).startswith(sentence)
    assert found[1:] == [([1.0, 0.0, 1.0, 1.0], "walk")]


def test_a_wrong_label_ends_the_one_before() -> None:
    lines = ["0,1,walk", "0.5,1,walk", "1,1,jump", "1.5,1,", "2,1,", "2.5,1,walk"]
    found = list(read_readings(lines, FEATURES, ["still", "walk"]))
    assert found[0] == ([1.0, 0.0, 1.0, 1.0], "walk")
    assert str(found[1]) == "line 3: y must be one of still, walk, found 'jump'."
    assert len(found) == 2, "what follows is not walking"


@pytest.mark.parametrize("features", [Features(4), Features(1, sensor=Sensor(
    "manual", transform="values", fields=("a",)))])  # fmt: skip
def test_readings_need_a_sensor(features: Features) -> None:
    with pytest.raises(InvalidInput, match=r"readings need a task with \[features.sensor\]"):
        list(read_readings([], features))
