"""Test which terms the one-file device accepts: each field within its range, and no other field."""

import copy
import json
import math
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from crowdml import one_file_device as standalone
from crowdml.errors import InvalidTask
from crowdml.protocol import Terms
from crowdml.protocol.mechanisms import PrivacyTerms
from crowdml.protocol.mechanisms.direction import DirectionTerms
from tests.support.servers import make_task

SENSOR = {
    "kind": "motion", "rate": 20.0, "window": 64, "transform": "spectrum", "first_bin": 1.0,
    "scale": 1.0, "every": 30.0, "trigger": "always", "fields": [],
}  # fmt: skip
DOCUMENT: dict[str, Any] = json.loads(
    make_task(privacy__mechanism="direction", privacy__epsilon=4.0).terms.text
)
DOCUMENT["features"]["sensor"] = SENSOR
DOCUMENT["model"]["start"] = {"sha256": "0" * 64, "rows": 200, "people": 4, "words": "a pilot"}
NAMED: dict[str, Any] = {
    "count": 2, "description": "", "sensor": None, "names": ["a", "b"], "center": [0.5, -3],
    "scale": [1, 2], "length": 2.9, "missing": "center",
}  # fmt: skip


def read(document: object) -> standalone.Terms:
    return standalone.Terms(json.dumps(document), "activity")


def accepts(document: object) -> bool:
    try:
        read(document)
    except standalone.DeviceError:
        return False
    return True


def leaves(document: Any, *path: str) -> Iterator[tuple[str, ...]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from leaves(value, *path, name)
        yield (*path, name)


PATHS = sorted(leaves(DOCUMENT))
KIND = ("features", "sensor", "kind")


def table(document: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        document = document[name]
    return document


def changed(path: tuple[str, ...], value: object) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    table(document, path)[path[-1]] = value
    return document


def ranges(kind: Any, *path: str) -> Iterator[tuple[tuple[str, ...], msgspec.Meta, bool]]:
    """List every number of the terms, as the package declares it: place, range, whether whole."""
    if get_origin(kind) is Annotated and get_args(kind)[0] in (int, float):
        yield path, get_args(kind)[1], get_args(kind)[0] is int
    for part in get_args(kind):
        yield from ranges(part, *path)
    if kind is PrivacyTerms:
        kind = DirectionTerms
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            yield from ranges(field.type, *path, field.name)


RANGES = [
    pytest.param(path, meta.ge, meta.le, whole, id=".".join(path))
    for path, meta, whole in ranges(Terms)
    if path not in [("model", "clip"), ("collection", "heldout")]
]
FELLOWS: dict[tuple[str, ...], dict[tuple[str, ...], object]] = {
    ("features", "count"): {("features", "sensor"): None, ("target", "labels"): ["a", "b"]},
    ("features", "sensor", "window"): {("features", "count"): 1},
    ("features", "center"): {("features", "count"): 1},
    ("features", "scale"): {("features", "count"): 1},
    ("collection", "batch"): {("collection", "buffer"): 1_000_000},
    ("collection", "buffer"): {("collection", "batch"): 1},
    ("collection", "evaluators"): {("collection", "counters"): 0.0},
    ("collection", "counters"): {("collection", "evaluators"): 0.0},
    ("privacy", "closest"): {("privacy", "directions"): 4096},
    ("privacy", "directions"): {("privacy", "closest"): 1},
    ("privacy", "epsilon"): {("collection", "checkins"): 1_000_000},
}
"""What has to change along for an end of a range to make sense."""
LISTS = [("features", "center"), ("features", "scale")]


def test_the_terms_that_are_changed_below() -> None:
    assert accepts(DOCUMENT)
    assert len(RANGES) == 24
    assert len(PATHS) == 53


@pytest.mark.parametrize(("path", "least", "most", "whole"), RANGES)
def test_the_ends_of_every_range(
    path: tuple[str, ...], least: float, most: float, whole: bool
) -> None:
    fellows = FELLOWS.get(path, {})

    def within(value: float) -> bool:
        document = changed(path, [value] if path in LISTS else value)
        for place, fellow in fellows.items():
            table(document, place)[place[-1]] = fellow
        return accepts(document)

    assert within(int(least) if whole else least)
    assert within(int(most) if whole else most)
    beyond = (
        (int(least) - 1, int(most) + 1)
        if whole
        else (math.nextafter(least, -math.inf), math.nextafter(most, math.inf))
    )
    for value in (*beyond, least - 1, -math.inf, math.inf, math.nan, 10**400, -(10**400)):
        assert not within(value)
    if whole:
        assert not within(float(least)), "3.0 is not a whole number in JSON"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=90)
    | st.sampled_from([0, 1, 2, 2**53, 10**9, 1e-300, "direction", "softmax", "inf", "manual"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)  # fmt: skip


# On a busy machine, values of any shape may take long to draw.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(PATHS), value=anything)
@example(path=("model", "clip"), value=-1.0)
@example(path=("privacy", "epsilon"), value=-4.0)
@example(path=("collection", "checkins"), value=True)
@example(path=("collection", "batch"), value=-1)
@example(path=("features",), value=NAMED)
@example(path=("features",), value=NAMED | {"names": ["a", "b\u00a0"]})
@example(path=("features",), value=NAMED | {"scale": [1, True]})
@example(path=("target", "labels"), value=["a", "a"])
@example(path=("target", "labels"), value=[""])
@example(path=("target", "labels"), value=["a", "b" * 81])
def test_what_it_accepts_the_package_accepts(path: tuple[str, ...], value: object) -> None:
    assume(path != KIND)
    document = changed(path, value)
    if accepts(document):
        terms, theirs = Terms.parse(json.dumps(document)), read(document)
        assert terms.loss.total == theirs.epsilon
        assert terms.make_model().size == theirs.d


@given(
    count=st.integers(1, 4),
    labels=st.lists(st.text(min_size=1, max_size=80), max_size=5, unique=True),
    kind=st.sampled_from(["softmax", "hinge", "ridge", "huber"]),
    intercept=st.booleans(),
    scale=st.floats(1e-9, 1e9),
    batch=st.integers(1, 100_000),
    buffer=st.integers(1, 1_000_000),
    directions=st.integers(2, 4096),
    closest=st.integers(1, 4095),
    epsilon=st.floats(1e-6, 1e6),
    checkins=st.integers(1, 1_000_000),
    evaluators=st.floats(0, 0.9),
    counters=st.just(0.0) | st.floats(0, 0.9),
)
def test_what_the_package_accepts_it_accepts(**values: Any) -> None:
    document = copy.deepcopy(DOCUMENT)
    for path in PATHS:
        if path[-1] in values and "sensor" not in path:
            table(document, path)[path[-1]] = values[path[-1]]
    text = json.dumps(document)
    try:
        terms = Terms.parse(text)
    except InvalidTask:
        assert not accepts(document)
        return
    theirs = standalone.Terms(text, "activity")
    assert terms.mechanism().length == theirs.S
    assert terms.promise.epsilon_per_person == pytest.approx(theirs.total)


@pytest.mark.parametrize("kind", ["manual", "a sensor of another version", "x" * 40])
def test_any_sensor_will_do(kind: str) -> None:
    """Check that the kind of sensor, of samples from a file, changes nothing that is sent."""
    own, usual = vars(read(changed(KIND, kind))), vars(read(DOCUMENT))
    assert {name for name in usual if own[name] != usual[name]} == {"sensor", "sha256", "text"}


@pytest.mark.parametrize("kind", ["", "x" * 41, 1, None, ["motion"]])
def test_what_is_no_sensor(kind: object) -> None:
    assert not accepts(changed(KIND, kind))


@pytest.mark.parametrize("path", PATHS, ids=".".join)
def test_no_field_is_missing_or_unknown(path: tuple[str, ...]) -> None:
    missing, unknown, twice = (copy.deepcopy(DOCUMENT) for _ in range(3))
    del table(missing, path)[path[-1]]
    table(unknown, path)["surprise"] = 1
    table(twice, path)[path[-1].upper()] = table(twice, path)[path[-1]]
    assert not any(map(accepts, (missing, unknown, twice)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("model", "clip"), 0.5),
        (("collection", "heldout"), 0.1),
        (("collection", "checkins"), None),
        (("collection", "evaluators"), 0.86),
        (("collection", "counters"), 0.76),
        (("privacy", "closest"), 1024),
        (("privacy", "epsilon"), 40.1),
        (("collection", "buffer"), 2),
        (("model", "kind"), "ridge"),
        (("target", "labels"), ["a"]),
        (("target", "labels"), []),
        (("task",), "another"),
        (("features", "count"), 65),
        (("features", "sensor", "transform"), "values"),
        (("features", "sensor", "fields"), ["typed"]),
        (("features", "names"), ["a", "b", "c", "d"]),
        (("features", "center"), [0.0]),
        (("features", "scale"), [1.0] * 5),
        (("features", "missing"), "center"),
        (("features",), NAMED | {"names": ["a", "a"]}),
        (("features",), NAMED | {"names": ["a", " b"]}),
        (("features",), NAMED | {"names": ["a", "b", "c"]}),
    ],
    ids=str,
)
def test_fields_that_contradict_each_other(path: tuple[str, ...], value: object) -> None:
    assert not accepts(changed(path, value))


def test_names_and_constants() -> None:
    terms = read(changed(("features",), NAMED))
    assert (terms.D, terms.names, terms.scale, terms.missing) == (2, ["a", "b"], [1, 2], "center")


def test_there_is_nothing_to_count_where_a_number_is_predicted() -> None:
    """Check that both devices reject counters above 0 there, and accept counters of 0."""
    document = copy.deepcopy(DOCUMENT)
    document["target"]["labels"], document["model"]["kind"] = [], "ridge"
    for counters in (0.05, 0.0):
        document["collection"]["counters"] = counters
        assert accepts(document) == (counters == 0)
        if counters:
            with pytest.raises(
                standalone.DeviceError, match="counters of 0 where there are no labels"
            ):
                read(document)
            with pytest.raises(InvalidTask, match=r"collection\.counters must be 0 where a number"):
                Terms.parse(json.dumps(document))


def test_one_check_in_in_ten_trains() -> None:
    for evaluators, counters in ((0.9, 0.0), (0.0, 0.9), (0.6, 0.3), (0.5, 0.41), (0.9, 0.01)):
        document = changed(("collection", "evaluators"), evaluators)
        document["collection"]["counters"] = counters
        if evaluators + counters < 0.91 - 1e-9:
            assert accepts(document)
            continue
        with pytest.raises(standalone.DeviceError, match="let one check-in in ten train"):
            read(document)
        with pytest.raises(InvalidTask, match=r"at most 0\.9 together with collection\.counters"):
            Terms.parse(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{", '"\ud800"', "[" * 100_000, "{}", "1e999", "9" * 5000, "\0"],
    ids=lambda text: repr(text[:9]),
)
def test_what_is_no_terms_at_all(text: str) -> None:
    with pytest.raises(standalone.DeviceError):
        standalone.Terms(text, "activity")


def test_every_rule_names_the_field_and_what_was_found() -> None:
    with pytest.raises(
        standalone.DeviceError,
        match=r"^terms\.collection\.batch must be int, 1 … 100000, found '-3'\. Do not join\.$",
    ):
        read(changed(("collection", "batch"), -3))
    with pytest.raises(
        standalone.DeviceError, match=r"^terms\.model\.kind must be one of \['hinge', "
    ):
        read(changed(("model", "kind"), "forest"))


@pytest.mark.parametrize("digits", [399, 400, 100_000])
def test_the_digits_of_a_number_take_no_time(digits: int) -> None:
    """Check the time: Python before 3.11 reads a million digits for minutes."""
    found = standalone.read_json("9" * digits)
    assert found == (10**399 - 1 if digits < 400 else math.inf)
