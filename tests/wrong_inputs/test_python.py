"""Wrong arguments of the Python API: devices, models, stores and settings."""

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml import Device, Limits, load_model
from crowdml.device import DeviceStore, RetryTimer
from crowdml.device.network.link import read_link
from crowdml.device.sources import feed
from crowdml.errors import CrowdmlError, DeviceError, InvalidInput, InvalidSample
from crowdml.models import MODELS
from crowdml.phrase import Phrase
from crowdml.portal.words import say, say_html
from crowdml.protocol import Task, Terms, rejected
from crowdml.server import Settings, Store
from tests.device.fakes import MemoryTransport, join
from tests.learnt.models import made
from tests.support.servers import make_task
from tests.wrong_inputs.expect_error import expect

NAN = math.nan


def test_too_many_check_ins_are_warned_of() -> None:
    def warning(checkins: int) -> str:
        privacy: dict[str, Any] = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0}
        return str(make_task(collection__checkins=checkins, **privacy).checkins_warning or "")

    assert warning(40) == ""
    assert "4 is divided by 80 check-ins, which leaves 0.05 for each" in warning(80)
    assert warning(80).endswith("so ask for at most 40.")


X = [0.1, 0.2, 0.3, 0.4]
SAMPLES: list[tuple[Any, Any, str]] = [
    *((x, "walk", "must") for x in (
        None, "abcd", b"abcd", 4, [], [0.1], X + X, [X], [[0.1, 0.2], [0.3]], {"light": 1}, {0.1},
        object(), (v for v in X), map(float, X), [None] * 4, ["0.1"] * 4, [NAN] * 4,
        [math.inf, 0, 0, 0], [1j] * 4, np.zeros((4, 1)), np.zeros(3), np.array(["a"] * 4),
        np.array([1, 2, 3, 4], dtype="datetime64[s]"), np.ma.masked, [10**400, 0, 0, 0],
    )),
    *((X, y, "must be one of still, walk, run") for y in (
        0, 1, "1", 1.0, True, None, NAN, "Walk", "wal k", "", [], ["walk"], {}, b"walk", object(),
        np.float64(1), np.bool_(True), (v for v in "walk"),
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    folder = tmp_path_factory.mktemp("device")
    with join(folder / "device", MemoryTransport(make_task(collection__batch=29))) as device:
        yield device


@pytest.mark.parametrize(("x", "y", "said"), SAMPLES, ids=map(str, range(len(SAMPLES))))
def test_samples(device: Device, x: Any, y: Any, said: str) -> None:
    before = device.n_samples
    with pytest.raises(InvalidSample, match=said):
        device.add(x, y)
    assert device.n_samples == before


JOINS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"device_limit": 0.5}, TypeError, r"join\(\) has no keyword 'device_limit'.*'limits'"),
    ({"limit": Limits(1, 1)}, TypeError, "Did you mean 'limits'"),
    ({"fingerprnt": "a"}, TypeError, "Did you mean 'fingerprint'"),
    ({"accept_no_privcy": True}, TypeError, "Did you mean 'accept_no_privacy'"),
    ({"limits": 0.5}, InvalidInput, r"limits must be Limits\(per_sample=…, per_device=…\)"),
    ({"limits": (1, 2)}, InvalidInput, "limits must be Limits"),
    ({"invite": 3}, InvalidInput, "invite must be a text or None, found 3"),
    ({"terms_sha256": b"a"}, InvalidInput, "terms_sha256 must be a text or None"),
    ({"accept_no_privacy": "no"}, InvalidInput, "accept_no_privacy must be True or False"),
    ({"insecure_http": 1}, InvalidInput, "insecure_http must be True or False"),
]


@pytest.mark.parametrize(("options", "error", "said"), JOINS, ids=[str(o) for o, _, _ in JOINS])
def test_joining(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    transport = MemoryTransport(make_task())
    with pytest.raises(error, match=said):
        join(tmp_path / "device", transport, **options)
    assert not (tmp_path / "device").exists()


KEYWORDS: dict[str, tuple[Callable[[], Any], str]] = {
    "ModelKind.model": (lambda: MODELS["huber"].model(2, 0, dleta=1.0), "'delta'"),
    "Phrase": (lambda: Phrase("{n} samples", m=3), "'n'"),
    "rejected": (lambda: rejected("too-frequent", "wait", retry_afte=3), "'retry_after'"),
    "say": (lambda: say("{n} samples", m=3), "'n'"),
    "say of a phrase": (lambda: say(Phrase("samples"), n=3), "It has none"),
    "say_html": (lambda: say_html("{n} samples", m=3), "'n'"),
}


@pytest.mark.parametrize(("call", "said"), KEYWORDS.values(), ids=KEYWORDS)
def test_keywords(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=f"has no keyword .*{said}"):
        call()


MODEL: Any = made(make_task(), np.zeros((3, 4)), np.zeros(3))

CALLS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "score, too few": (lambda: MODEL.score([X, X], ["walk"]), InvalidInput, "each of the 2 rows"),
    "score, one": (lambda: MODEL.score([X, X], "walk"), InvalidInput, "each of the 2 rows"),
    "score, 1.0": (lambda: MODEL.score([X], [1.0]), InvalidInput, "1 is a name, and 1.0 is none"),
    "score, no rows": (lambda: MODEL.score(np.zeros((0, 4)), []), InvalidInput, "names|each"),
    "predict a generator": (lambda: MODEL.predict(x for x in X), InvalidInput, "X must be"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_calls(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_calls_of_a_closed_device(tmp_path: Path) -> None:
    closed = join(tmp_path / "device", MemoryTransport(make_task()))
    closed.close()
    for use in (lambda: closed.add(X, "walk"), lambda: closed.ledger, closed.leave):
        with pytest.raises(DeviceError, match=r"is closed\. Open it anew"):
            use()


# Further arguments, kind by kind: the values, and the rule that each of them breaks.

FOLDER = Path(__file__).parent
UNUSED = Path(tempfile.gettempdir()) / f"crowdml-wrong-inputs-{os.getpid()}"
"""A folder for devices that never join."""
HUGE = 10**400
SECONDS: list[Any] = [-1, NAN, None, "1", True, [1], -math.inf, 1j]
ENDLESS = [*SECONDS, math.inf]
OF_SECONDS = "must be (0 seconds or more|a (finite )?number of seconds), found"
PATHS: list[Any] = [5, b"x", [], 1.5, object]
Calls = dict[str, tuple[Callable[[], Any], str]]


def kind(name: str, call: Callable[[Any], Any], rule: str, values: list[Any]) -> Calls:
    """Make a row for each value."""
    return {f"{name} {i} {rule[:20]}": (partial(call, v), rule) for i, v in enumerate(values)}


@pytest.fixture(autouse=True, scope="module")
def _no_folder_stays() -> Iterator[None]:
    yield
    shutil.rmtree(UNUSED, ignore_errors=True)


URL = "the database must be a URL such as"
TABLE = "X must be a table|X must be finite numbers|readings must have the names"
WRONG_TABLES: list[Any] = [
    None, "x", [1], [[1]], [[NAN] * 4], [X + X], np.zeros((1, 2, 4)), [["a"] * 4], {"a": 1},
    [[1j] * 4], [object()], [[HUGE, 0, 0, 0]],
]  # fmt: skip
SETTINGS: dict[str, list[Any]] = {
    "snapshot_every": [0, -1, 1.5, None, "1", True],
    "poll_seconds": [0, -1, NAN, math.inf, None, "1"],
    "largest_batch": [0, 0.5],
    "most_listeners": [-1, 1.5],
    "head_seconds": [NAN, 0],
    "joins_per_minute": [-1, None],
    "log_format": ["xml", None, ""],
    "metrics_token": [""],
}
FREE: Calls = {
    **kind("Limits", lambda v: Limits(v, 1), "per_sample must be a number above 0, found",
           [None, "1", -1, 0, NAN, True, [1], 1j]),
    **kind("Limits", lambda v: Limits(1, v), "per_device must be a number above 0, found",
           [None, "1", -1, 0, NAN, True, [1], 1j]),
    **kind("jitter", lambda v: RetryTimer(jitter=v), f"jitter {OF_SECONDS}", ENDLESS),
    **kind("base", lambda v: RetryTimer(base=v), f"base {OF_SECONDS}", ENDLESS),
    **kind("longest", lambda v: RetryTimer(longest=v), f"longest {OF_SECONDS}", ENDLESS),
    **kind("store", Device, "store must be a DeviceStore", [None, "x", 5]),
    **kind("device file", DeviceStore, "file must be a path, found", [None, *PATHS]),
    **kind("device file", DeviceStore, "file must not have a null character", ["a\0b"]),
    **kind("device file", DeviceStore, "cannot use the device file", [FOLDER]),
    **kind("model file", load_model, "source must be a file, or the address", [None, *PATHS]),
    **kind("model file", load_model, "source must not have a null character", ["a\0b"]),
    **kind("model file", load_model, "cannot read the model", [FOLDER, "nope.npz"]),
    **kind("model file", load_model, "found nothing", [""]),
    **kind("model address", load_model, "a link must (name|be)|a server URL must be",
           ["https://a", "ftp://a/tasks/b", "https://[/tasks/b", "https://a:99999/tasks/b"]),
    **kind("join url", lambda v: Device.join(v, "a"), "url must be a text", [5, None, b"x", []]),
    **kind("join url", lambda v: Device.join(v, "a", file=UNUSED / "x"),
           "a server URL must be https://host:port, found",
           ["", "nonsense", "ftp://a", "https://", "https://a b", "https://[", "https://a:99999",
            "https://a\nb"]),
    **kind("join url", lambda v: Device.join(v, "a", file=UNUSED / "x"),
           "plain HTTP is for loopback only", ["http://example.org"]),
    **kind("join task", lambda v: Device.join("https://a", v), "task must be a text",
           [5, None, b"a", []]),
    **kind("join task", lambda v: Device.join("https://a", v, file=UNUSED / "x"),
           "a task's name must be",
           ["", "A", "../x", "a b", "a/b", "é", "x" * 64]),
    **kind("join file", lambda v: Device.join("https://a", "a", file=v),
           "file must be a path or None", PATHS),
    **kind("join fingerprint",
           lambda v: Device.join("https://127.0.0.1:1", "a", file=UNUSED / "x",
                                 fingerprint=v),
           "a fingerprint must be 64 digits from 0 to f", ["", "zz", "ab" * 31, "zz" * 32]),
    **kind("link", read_link, "a link must be a text", [None, 5, b"x", []]),
    **kind("link", read_link, "a link must name a task", ["", "nonsense", "https://", "https://a/b"]),
    **kind("predict", MODEL.predict, TABLE, WRONG_TABLES),
    **kind("predict_proba", MODEL.predict_proba, TABLE, WRONG_TABLES),
    **kind("score X", lambda v: MODEL.score(v, ["walk"]), TABLE, WRONG_TABLES),
    **kind("score y", lambda v: MODEL.score([X], v), "y must be the names of labels|y must have",
           [None, "walk", [], ["walk"] * 3, [None], [["walk"]], [1.0], [True], 5, [b"walk", 1.5]]),
    **kind("toml", Task.from_toml, "a task file must be a text", [None, 5, b"x", [], {}]),
    **kind("terms", Terms.parse, "the server's terms make no sense: they must be",
           [None, 5, b"x", [], {}, "", "{", "[]", "null", '"a"', "1", "{" * 5000, "\ud800",
            '{"a":NaN}']),
    **kind("terms", Terms.parse, "task is missing", ["{}"]),
    **kind("database", Store, URL,
           [None, 5, b"x", [], "", "nonsense", "mysql://a", "sqlite://", "sqlite:///"]),
    **kind("database", Store, "there is no folder", ["sqlite:////nope/x.db"]),
    **kind("database", Store, "a database must be a file, found the folder",
           [f"sqlite:///{FOLDER}"]),
    **kind("settings", lambda v: Settings(database=v), "database must be a URL", [None, 5, b"x"]),
    **{f"Settings {name}={value!r}": (partial(Settings, **{name: value}), f"{name} must")
       for name, values in SETTINGS.items() for value in values},
}  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_arguments(name: str) -> None:
    expect(*FREE[name], CrowdmlError if name.startswith(("database", "device")) else InvalidInput)


OF_DEVICES: dict[str, tuple[Callable[[Any, Any], Any], str, list[Any]]] = {
    "flush": (lambda device, v: device.flush(v), f"seconds {OF_SECONDS}", SECONDS),
    "predict": (lambda device, v: device.predict(v), "must be|must have",
                [None, "x", [1], X + X, [NAN] * 4, np.zeros((2, 4)), {"a": 1}, 5]),
    "feed": (feed, "source must be a file, or - for standard input", [None, *PATHS]),
    "feed a file": (feed, "cannot read the source|a source must be|null character",
                    ["nope.csv", str(FOLDER), "ftp://x", "a\0b"]),
    "set_limits": (lambda device, v: device.set_limits(v), "limits must be Limits",
                   [None, 1, (1, 1), "1"]),
    "agree": (lambda device, v: device.agree(v), "the terms shown were", [None, "x", 5]),
    "move": (lambda device, v: device.move(v), "a server URL must be",
             [None, "nonsense", "", "ftp://a"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, (_, _, values) in OF_DEVICES.items() for value in values],
    ids=repr,
)
def test_arguments_of_a_device(device: Device, name: str, value: Any) -> None:
    call, said, _ = OF_DEVICES[name]
    expect(lambda: call(device, value), said)


READINGS: list[tuple[Any, str]] = [
    ({"a": 1}, "'b' is missing"),
    ({"a": 1, "b": "x"}, "'b' must be a finite number, found 'x'"),
    ({"a": 1, "b": None}, "'b' must have a number in every sample"),
    ({"a": 1, "b": NAN}, "'b' must have a number in every sample"),
    ({"A": 1, "b": 2}, "'a' is missing, found 'A'"),
    ({"a": 1, "b": 2, "c": 3}, "'c' is not known"),
    ({"a": 1, "b": HUGE}, "'b' must be a finite number"),
    ([1], "x must be 2 numbers, found 1"),
    ([1, 2, 3], "x must be 2 numbers, found 3"),
    ("ab", "x must be 2 numbers"),
]
NUMBERS: list[Any] = [
    None, "1", "a", NAN, math.inf, -math.inf, [1], 1j, True, b"1", HUGE, {}, object, 1e13,
]  # fmt: skip


@pytest.mark.parametrize(("x", "said"), READINGS, ids=[str(x)[:20] for x, _ in READINGS])
def test_readings_by_name(tmp_path: Path, x: Any, said: str) -> None:
    task = make_task(features__count=2, features__names=["a", "b"])
    with join(tmp_path / "device", MemoryTransport(task)) as device:
        expect(lambda: device.predict(x), said, InvalidSample)
        expect(lambda: device.add(x, "walk"), said, InvalidSample)
        assert device.n_samples == 0


@pytest.mark.parametrize("y", NUMBERS, ids=[str(y)[:20] for y in NUMBERS])
def test_answers_that_are_numbers(tmp_path: Path, y: Any) -> None:
    task = make_task(target__labels=None, model__kind="huber")
    with join(tmp_path / "device", MemoryTransport(task)) as device:
        expect(lambda: device.add(X, y), "y must be a number within", InvalidSample)
        assert device.n_samples == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path_factory.mktemp('store')}/crowdml.db")) as store:
        store.create_task(make_task())
        yield store


NAMES: list[Any] = [None, 5, "", "nope", b"x", "../x", "a\0b"]
OF_STORES: dict[str, tuple[Callable[[Any, Any], Any], str, list[Any]]] = {
    "create": (lambda store, v: store.create_task(v), "task must be a Task",
               [None, 5, "x", {}, b"x"]),
    "create twice": (lambda store, v: store.create_task(v), "is taken: there is a task",
                     [make_task()]),
    "task": (lambda store, v: store.task(v), "there is no task", NAMES),
    "delete": (lambda store, v: store.delete_task(v), "there is no task", NAMES),
    "pause": (lambda store, v: store.set_task_state(v, "paused"), "there is no task", NAMES),
    "state": (lambda store, v: store.set_task_state("activity", v), "state must be one of",
              [None, 5, "dancing", "", "reached"]),
    "revoke": (lambda store, v: store.set_device_status(v, "revoked"), "there is no device", NAMES),
    "owner": (lambda store, v: store.owners.add(v, "0123456789"), "an owner's name must be",
              [None, 5, "", "a\nb", "a b", b"x", "x" * 64]),
    "password": (lambda store, v: store.owners.add("ann", v), "a password must",
                 [None, 5, "", "short", b"0123456789", "x" * 1001]),
    "remove": (lambda store, v: store.owners.remove(v), "there is no owner", ["nope", "", None]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, (_, _, values) in OF_STORES.items() for value in values],
    ids=lambda value: repr(value)[:20],
)
def test_arguments_of_a_store(store: Store, name: str, value: Any) -> None:
    call, said, _ = OF_STORES[name]
    expect(lambda: call(store, value), said)
