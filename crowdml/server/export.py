"""The learnt model as a file: npz, json or onnx."""

import io
from typing import Any

import msgspec
import numpy as np

from crowdml.models import LinearModel
from crowdml.server.fold import Fold
from crowdml.types import Array

__all__ = ["EXPORTS", "export_model"]

EXPORTS = {
    "npz": "application/octet-stream",
    "json": "application/json",
    "onnx": "application/octet-stream",
}


def export_model(fold: Fold, format: str) -> bytes:
    """Weights K×D, intercepts K, and what is needed to use them."""
    task, model, w = fold.task, fold.model, fold.learnt
    if not isinstance(model, LinearModel):
        raise TypeError(f"only linear models can be exported, found {type(model).__name__}")
    k, d = model.n_scores, model.n_features
    weights = w[: k * d].reshape(k, d)
    intercepts = w[k * d :] if model.intercept else np.zeros(k)
    about: dict[str, Any] = {
        "task": task.name,
        "kind": task.terms.model.kind,
        "version": fold.version,
        "labels": list(task.terms.target.labels),
        "features": task.terms.features.description,
    }
    match format:
        case "json":
            numbers = {"weights": weights.tolist(), "intercepts": intercepts.tolist()}
            return msgspec.json.encode(about | numbers)
        case "onnx":
            return _onnx(about, weights, intercepts, model.n_classes)
        case _:
            buffer = io.BytesIO()
            text = {name: np.array(value) for name, value in about.items() if value != []}
            np.savez(buffer, allow_pickle=False, weights=weights, intercepts=intercepts, **text)
            return buffer.getvalue()


def _onnx(about: dict[str, Any], weights: Array, intercepts: Array, n_classes: int) -> bytes:
    """x (n×D, float32) → prediction: the class index, or the real value."""
    from onnx import TensorProto, helper, numpy_helper

    n_features = weights.shape[1]
    nodes = [helper.make_node("Gemm", ["x", "weights", "intercepts"], ["scores"], transB=1)]
    if n_classes:
        nodes.append(helper.make_node("ArgMax", ["scores"], ["prediction"], axis=1, keepdims=0))
        output = helper.make_tensor_value_info("prediction", TensorProto.INT64, ["n"])
    else:
        nodes.append(helper.make_node("Identity", ["scores"], ["prediction"]))
        output = helper.make_tensor_value_info("prediction", TensorProto.FLOAT, ["n", 1])
    scores = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", len(weights)])]
    graph = helper.make_graph(
        nodes,
        about["task"],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", n_features])],
        [output, *scores],
        [
            numpy_helper.from_array(weights.astype(np.float32), "weights"),
            numpy_helper.from_array(intercepts.astype(np.float32), "intercepts"),
        ],
    )
    model = helper.make_model(
        graph, producer_name="crowdml", opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    helper.set_model_props(model, {name: str(value) for name, value in about.items()})
    data: bytes = model.SerializeToString()
    return data
