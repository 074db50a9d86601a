"""Wrong inputs of every kind, in one table: what is said, and that nothing else is raised.

A row is a kind, an input, the class of the error (or the exit code) and a part of the message.
`ACCEPTED` lists what looks wrong and is taken all the same, each with the reason.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml import Device, Limits, load_model
from crowdml.device import DeviceStore, Waiting
from crowdml.device.link import read_link
from crowdml.device.sources import feed
from crowdml.errors import (
    CrowdmlError,
    DeviceError,
    InvalidInput,
    InvalidSample,
    InvalidTask,
)
from crowdml.models import MODELS
from crowdml.phrase import Phrase
from crowdml.portal.words import say, say_html
from crowdml.protocol import Task, Terms, rejected
from crowdml.sklearn import CrowdClassifier
from tests.device.fakes import MemoryTransport, join
from tests.learnt.models import made
from tests.protocol.files import task_file
from tests.servers import make_task

NAN = math.nan
WRONG: Any = None
BYTES: Any = b"x"
NAMED = {"features.count": "2"}

TASK_FILES: list[tuple[dict[str, str | None], str]] = [
    ({"title": '"  "'}, "title must not be blank"),
    ({"title": r'"a\nb"'}, "title must be one line"),
    ({"title": r'"a\u2028b"'}, "title must be one line"),
    ({"title": r'"a\u001b[8m"'}, "title must not have control characters or marks of direction"),
    ({"title": r'"a\u202eb"'}, "title must not have control characters or marks of direction"),
    ({"owner": r'"\u200b"'}, "owner must not have control characters"),
    ({"owner": r'"a\tb"'}, "owner must not have control characters"),
    ({"contact": '" "'}, "contact must not be blank"),
    ({"purpose": '" "'}, "purpose must not be blank"),
    ({"purpose": r'"\u2066a"'}, "purpose must not have control characters"),
    ({"objective": r'"\u0000"'}, "objective must not have control characters"),
    ({"target.labels": '["Walk", "walk"]'}, 'more than case, spaces .* "Walk" and "walk"'),
    ({"target.labels": '["a b", "ab"]'}, "must differ in more than case, spaces"),
    ({"target.labels": '["a  b", "a b"]'}, "must differ in more than case, spaces"),
    ({"target.labels": r'["\u00e9", "e\u0301"]'}, "the form of characters"),
    ({"target.labels": r'["ﬁt", "fit"]'}, "the form of characters"),
    ({"target.labels": '["a", "a"]'}, 'must differ from each other, found "a" twice'),
    ({"target.labels": '["a,b", "c"]'}, "must not have a comma or a line break"),
    ({"target.labels": r'["a\nb", "c"]'}, "must not have a comma or a line break"),
    ({"target.labels": r'["a\rb", "c"]'}, "must not have a comma or a line break"),
    ({"target.labels": r'["a\u200f", "c"]'}, "control characters or marks of direction"),
    ({"target.labels": '[" a", "c"]'}, "must not begin or end with a space"),
    ({"target.labels": '["", "c"]'}, "target.labels must be a list"),
    ({"target.labels": "[1, 2]"}, "target.labels must be a list"),
    ({**NAMED, "features.names": '["a", "a"]'}, 'must differ from each other, found "a" twice'),
    ({**NAMED, "features.names": '["a b", "ab"]'}, "must differ in more than spaces"),
    ({**NAMED, "features.names": r'["a", "b\u202e"]'}, "control characters"),
    ({**NAMED, "features.sensor.kind": '"manual"', "features.sensor.transform": '"values"',
      "features.sensor.fields": '["height", "height"]'}, 'fields must differ .* "height" twice'),
    ({"privacy.epsilon": "nan"}, "privacy.epsilon must be"),
    ({"privacy.epsilon": "-1"}, "privacy.epsilon must be"),
    ({"privacy.epsilon": "true"}, "privacy.epsilon must be"),
    ({"privacy.epsilon": "1e400"}, "is too large"),
    ({"collection.batch": "0"}, "collection.batch must be"),
    ({"collection.batch": "1.5"}, "collection.batch must be"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), TASK_FILES, ids=[str(c) for c, _ in TASK_FILES])
def test_task_files(changes: dict[str, str | None], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        Task.from_toml(task_file(changes))


def test_too_many_check_ins_are_warned_of() -> None:
    def warning(checkins: int) -> str:
        privacy: dict[str, Any] = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0}
        return str(make_task(collection__checkins=checkins, **privacy).too_many_checkins or "")

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
ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
HALVES = (ROWS[:, 0] > 0).astype(int)


def crowd(groups: Any = None, **settings: Any) -> Any:
    return CrowdClassifier(bounds=(-1, 1), **settings).fit(ROWS, HALVES, groups=groups)


CALLS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "url": (lambda: Device.join(WRONG, "a"), InvalidInput, "url must be a text"),
    "task": (lambda: Device.join("https://a", WRONG), InvalidInput, "task must be a text"),
    "a task that leaves its folder": (
        lambda: Device.join("https://a", "../x"), InvalidInput, "a task's name must be"),
    "store": (lambda: DeviceStore(WRONG), InvalidInput, "file must be a path"),
    "jitter": (lambda: Waiting(jitter=-1.0), InvalidInput, "jitter must be 0 seconds or more"),
    "jitter nan": (lambda: Waiting(jitter=NAN), InvalidInput, "jitter must be 0 seconds or more"),
    "base": (lambda: Waiting(base=WRONG), InvalidInput, "base must be a number of seconds"),
    "link": (lambda: read_link(WRONG), InvalidInput, "a link must be a text"),
    "load": (lambda: load_model(WRONG), InvalidInput, "source must be a file"),
    "load bytes": (lambda: load_model(BYTES), InvalidInput, "source must be a file"),
    "load nothing": (lambda: load_model("nope.npz"), InvalidInput, "nope.npz"),
    "toml": (lambda: Task.from_toml(WRONG), InvalidInput, "a task file must be a text"),
    "terms": (lambda: Terms.parse(WRONG), InvalidTask, "must be JSON"),
    "score, too few": (lambda: MODEL.score([X, X], ["walk"]), InvalidInput, "each of the 2 rows"),
    "score, one": (lambda: MODEL.score([X, X], "walk"), InvalidInput, "each of the 2 rows"),
    "score, a table": (lambda: MODEL.score([X], [["walk"]]), InvalidInput, "each of the 1 rows"),
    "score, 1.0": (lambda: MODEL.score([X], [1.0]), InvalidInput, "1 is a name, and 1.0 is none"),
    "score, no rows": (lambda: MODEL.score(np.zeros((0, 4)), []), InvalidInput, "names|each"),
    "predict None": (lambda: MODEL.predict(None), InvalidInput, "X must be"),
    "predict a generator": (lambda: MODEL.predict(x for x in X), InvalidInput, "X must be"),
    "epsilon=True": (lambda: crowd(epsilon=True), InvalidInput, "epsilon must be a number"),
    "epsilon=None": (lambda: crowd(epsilon=None), InvalidInput, "epsilon must be a number"),
    "epsilon='1'": (lambda: crowd(epsilon="1"), InvalidInput, "epsilon must be a number"),
    "epsilon=nan": (lambda: crowd(epsilon=NAN), InvalidInput, "epsilon must be positive"),
    "regularization": (lambda: crowd(regularization="0"), InvalidInput, "must be a number"),
    "fit_intercept": (lambda: crowd(fit_intercept="no"), InvalidInput, "must be True or False"),
    "checkins=1000": (lambda: crowd(checkins=1000), InvalidInput, "a whole number in 1 … 1,"),
    "checkins=True": (lambda: crowd(checkins=True), InvalidInput, "a whole number"),
    "groups nan": (lambda: crowd([NAN, *range(19)]), InvalidInput, "groups must say whose"),
    "groups None": (lambda: crowd([None] * 20), InvalidInput, "groups must say whose"),
    "groups too few": (lambda: crowd([1, 2]), ValueError, "inconsistent numbers of samples"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_calls(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_calls_of_a_device(device: Any, tmp_path: Path) -> None:
    calls: list[tuple[Callable[[], Any], type[CrowdmlError], str]] = [
        (lambda: device.flush("1"), InvalidInput, "seconds must be a number"),
        (lambda: device.flush(NAN), InvalidInput, "seconds must be 0 seconds or more"),
        (lambda: device.set_limits(3), InvalidInput, "limits must be Limits"),
        (lambda: device.predict(None), InvalidSample, "x must be 4 numbers"),
        (lambda: feed(device, WRONG), InvalidInput, "source must be a file"),
        (lambda: feed(device, "nope.csv"), InvalidInput, "nope.csv"),
        (lambda: feed(device, str(tmp_path)), InvalidInput, "cannot read the source"),
    ]
    for call, error, said in calls:
        with pytest.raises(error, match=said):
            call()
    closed = join(tmp_path / "device", MemoryTransport(make_task()))
    closed.close()
    for use in (lambda: closed.add(X, "walk"), lambda: closed.ledger, closed.leave):
        with pytest.raises(DeviceError, match=r"is closed\. Open it anew"):
            use()


ACCEPTED = {
    "--epsilon inf, --per-device inf": "ε = ∞ means no noise or no limit; pages say NOT PRIVATE",
    "a label of other classes in score": "a test set may have classes that the model never saw",
    "names that differ in case": "units and substances do: pH and PH, Co and CO",
    "samples of one label": "people differ, and one person may have one label only",
    "up to nine rows that are the same": "a sensor at rest repeats itself for a while",
    "True among readings": "a switch is a reading: on is 1 and off is 0",
}
"""What looks wrong and is taken; tests elsewhere cover each."""


def test_what_is_accepted_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in ACCEPTED.values())
