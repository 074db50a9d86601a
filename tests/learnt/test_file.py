"""Test that a model in any file format answers like the devices that learnt it."""

import io
import zipfile
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidInput, Rejected
from crowdml.learnt import MODEL_FORMATS, LearntModel, LearntSoftmax, read_model, write_model
from crowdml.privacy import bound_features
from crowdml.protocol import State, Task, terms_hash
from crowdml.server.log.published import Published
from crowdml.server.results.export import learnt_model
from crowdml.tables import read_arrays
from crowdml.types import Array
from tests.learnt.models import KINDS, features, fold_of, learnt
from tests.support.servers import make_task

EVERY = pytest.mark.parametrize("task", KINDS.values(), ids=list(KINDS))
FACTS = ("task", "version", "terms_sha256", "mechanism", "epsilon", "delta", "unit", "norm")


def on_a_device(task: Task, w: Array, x: Array) -> list[Any]:
    """Predict in the slow, obvious way.

    Each row is bounded as in `Device.add`, then given to the model of Device Routine 2.
    """
    norm, made = task.terms.mechanism().norm, task.terms.features
    rows = np.array([bound_features(made.scaled(made.values(row)), 4, norm) for row in x])
    found = task.terms.make_model().predict(w, rows)
    labels = task.terms.target.labels
    return [labels[int(k)] for k in found] if labels else found.tolist()


def in_onnxruntime(model: LearntModel, x: Array) -> dict[str, Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        write_model(model, "onnx"), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": x.astype(np.float32)}), strict=True))


@EVERY
def test_every_file_answers_as_a_device(task: Task) -> None:
    fold, x = fold_of(task), features().astype(np.float32).astype(float)
    made = task.terms.features
    if made.missing == "center":
        x[::7, 2] = np.nan
    model, expected = (
        learnt_model(Published.of(fold, fold.state)),
        on_a_device(task, fold.exported, x),
    )
    for kind in ("npz", "json"):
        again = read_model(write_model(model, kind), f"model.{kind}")
        assert again.about == model.about
        assert again.weights.tobytes() == model.weights.tobytes()
        assert again.predict(x).tolist() == expected
        assert again.about.readings.scaled_rows(x).tolist() == made.scaled_rows(x).tolist()
    found = in_onnxruntime(model, x)
    if task.terms.target.labels:
        assert found["label"].tolist() == expected, "double precision inside, so no row differs"
        if isinstance(model, LearntSoftmax):
            assert found["probabilities"] == pytest.approx(model.predict_proba(x), abs=1e-6)
    else:
        assert found["variable"][:, 0] == pytest.approx(expected, rel=1e-6)


@EVERY
def test_every_file_says_where_it_comes_from(task: Task) -> None:
    import onnx

    model = learnt(task)
    terms = task.terms
    facts = (
        task.name, 6, terms_hash(terms.text), terms.mechanism_name,
        terms.promise.epsilon_of_terms, terms.promise.delta, terms.promise.whom,
        terms.mechanism().norm,
    )  # fmt: skip
    assert tuple(getattr(model.about, name) for name in FACTS) == facts
    document = msgspec.json.decode(write_model(model, "json"))
    assert tuple(document[name] for name in FACTS) == facts
    arrays = read_arrays(write_model(model, "npz"), "model.npz")
    assert tuple(arrays[name].item() for name in FACTS) == facts
    assert arrays["labels"].tolist() == list(terms.target.labels)
    written = onnx.load_from_string(write_model(model, "onnx"))
    onnx.checker.check_model(written, full_check=True)
    props = {prop.key: prop.value for prop in written.metadata_props}
    assert tuple(props[name] for name in FACTS) == tuple(
        fact if isinstance(fact, str) else msgspec.json.encode(fact).decode() for fact in facts
    )


def test_onnx_has_probabilities_in_the_order_of_classes() -> None:
    task, x = KINDS["softmax with intercepts"], features()
    model = learnt(task)
    found = in_onnxruntime(model, x)
    assert task.terms.target.labels == ("b", "a")
    assert model.classes_.tolist() == ["a", "b"]  # type: ignore[attr-defined]
    expected = model.predict_proba(x)  # type: ignore[attr-defined]
    assert found["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert set(in_onnxruntime(learnt(KINDS["hinge"]), x)) == {"label", "scores"}


def test_rows_are_rescaled_and_not_taken_as_they_are() -> None:
    """Check that raw rows would give other answers, with intercepts or for a number."""
    fold, x = fold_of(KINDS["ridge"]), features()
    raw = x @ fold.exported
    assert np.abs(learnt_model(Published.of(fold, fold.state)).predict(x) - raw).max() > 1e-3


def test_a_file_of_an_earlier_version_has_no_constants() -> None:
    model = learnt(KINDS["softmax"])
    document = msgspec.json.decode(write_model(model, "json"))
    for field in ("named", "center", "scale", "length", "missing"):
        del document[field]
    assert read_model(msgspec.json.encode(document), "old").about == model.about


def test_a_model_that_has_learnt_nothing_is_rejected() -> None:
    with pytest.raises(Rejected, match="activity has learnt nothing yet: of its 0 check-ins"):
        learnt_model(Published.of(fold_of(make_task(), checkins=0), State.RUNNING))


def test_a_promise_for_nobody() -> None:
    model = learnt(make_task(privacy__epsilon=float("inf")))
    for kind in ("npz", "json"):
        assert read_model(write_model(model, kind), "x").about.epsilon == "inf"


# Files that contain no model


@pytest.mark.parametrize("kind", sorted(MODEL_FORMATS))
def test_a_damaged_file_is_rejected_or_whole(kind: str) -> None:
    """Cut or change a file anywhere.

    Reading must give a clear error, or a model with a change that models may have, and never crash.
    """
    data = write_model(learnt(KINDS["softmax"]), kind)
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(300):
        place = int(rng.integers(len(data)))
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        for damaged in (bytes(changed), data[:place]):
            try:
                read_model(damaged, "model")
            except InvalidInput:
                rejected += 1
    assert rejected > 300


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def zipped(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def changed(**fields: Any) -> bytes:
    document = msgspec.json.decode(write_model(learnt(KINDS["softmax"]), "json"))
    return msgspec.json.encode(document | fields)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "must be an .npz or .json file that crowdml has exported, and m is neither"),
        (b"nonsense", "and m is neither"),
        (b"{}", "it has no .weights."),
        (b"{" * 5000, "must be a model that crowdml has exported"),
        (b'{"weights": ', "must be a model that crowdml has exported"),
        (b"PK\x03\x04 and so on", "must be an .npz file of plain arrays"),
        (npz(x=np.zeros(3)), "it has no 'weights'"),
        (npz(weights=np.zeros(3), intercepts=np.zeros(3)), "missing required field `task`"),
        (npz(weights=np.array(["a"]), intercepts=np.zeros(3)), "could not convert"),
        (zipped("weights.npy", b"\x93NUMPY\x01\x00"), "must be an .npz file of plain arrays"),
        (zipped("readme.txt", b"hello"), "it has no 'weights'"),
        (changed(format="another 9"), "crowdml model 1|Invalid enum value 'another 9'"),
        (changed(kind="forest"), "a model's kind must be softmax, .*found 'forest'"),
        (changed(norm=3), "Invalid enum value 3"),
        (changed(labels=["one", "two"]), r"must have 2×4 finite weights .*\(3, 4\)"),
        (changed(labels=[]), "must have 1×4 finite weights"),
        (changed(weights=[[1.0], [1.0, 2.0]]), "must be a model that crowdml has exported"),
        (changed(center=[1.0]), "a center and a scale above 0 for each of them, or none, found 1"),
        (changed(scale=[1.0, 0.0, 1.0, 1.0]), "a scale above 0"),
        (changed(length=0.0), "must be a model that crowdml has exported"),
        (changed(intercepts=[0.0]), r"3 intercepts, found the shapes \(3, 4\) and \(1,\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_model(data: bytes, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_model(data, "m")


def test_an_onnx_file_is_for_others() -> None:
    data = write_model(learnt(KINDS["softmax"]), "onnx")
    with pytest.raises(InvalidInput, match=r"m\.onnx is for onnxruntime"):
        read_model(data, "m.onnx")
