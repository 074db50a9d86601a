"""The learnt model as a file says what the fold learnt."""

import io
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.server import Store
from crowdml.server.export import export_model
from tests.server.learning import arrivals, new_learner, replayed
from tests.servers import make_task


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model__intercept": True},
        {"model__kind": "hinge"},
        {"model__kind": "ridge", "model__clip": 1.0, "target__labels": None},
        {"model__kind": "huber", "target__labels": None, "model__intercept": True},
    ],
    ids=str,
)
def test_exports_agree_with_the_fold(store: Store, changes: dict[str, Any]) -> None:
    import onnxruntime

    task = make_task(**changes)
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 6))
    fold = replayed(store, task)
    w, model = fold.learnt, fold.model
    files = {kind: export_model(fold, kind) for kind in ("npz", "json", "onnx")}

    with np.load(io.BytesIO(files["npz"]), allow_pickle=False) as archive:
        weights, intercepts = archive["weights"], archive["intercepts"]
        assert int(archive["version"]) == 6
    flat = np.concatenate([weights.ravel(), intercepts if task.terms.model.intercept else []])
    assert flat.tobytes() == w.tobytes()
    document = msgspec.json.decode(files["json"])
    assert np.array(document["weights"]).tobytes() == weights.tobytes()
    assert np.array(document["intercepts"]).tobytes() == intercepts.tobytes()
    assert document["labels"] == list(task.terms.target.labels)

    x = np.random.default_rng(0).dirichlet(np.ones(4), 200)
    session = onnxruntime.InferenceSession(files["onnx"], providers=["CPUExecutionProvider"])
    prediction, scores = session.run(None, {"x": x.astype(np.float32)})
    expected = x @ weights.T + intercepts
    assert np.abs(scores - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    if model.n_classes:
        top = np.sort(expected, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-4 * max(1.0, np.abs(expected).max())
        assert clear.mean() > 0.9
        assert (prediction[clear] == model.predict(w, x)[clear]).all()
    else:
        error = np.abs(prediction.ravel() - model.predict(w, x)).max()
        assert error <= 1e-5 * max(1.0, np.abs(expected).max())
