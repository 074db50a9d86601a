"""Write the model as an ONNX graph, with the names that skl2onnx gives to inputs and outputs."""

from typing import Any

import msgspec
import numpy as np

from crowdml.learnt.estimator import LearntClassifier, LearntModel, LearntSoftmax
from crowdml.learnt.model_description import ModelDescription
from crowdml.protocol import MOST_SCALES

OPSET, IR_VERSION = 13, 8


def onnx_model(model: LearntModel) -> bytes:
    """Map X (n×D, float) to label (n, text) and probabilities (n×C), or to variable (n×1).

    X has readings in the order of the task's names; NaN is a missing reading. Columns of the output
    are in the order of `classes_`. A kind without probabilities has `scores` instead. The graph
    computes in double precision, as a device does.
    """
    from onnx import TensorProto, helper, numpy_helper

    constants: dict[str, Any] = {
        "weights": model.weights,
        "intercepts": model.intercepts,
        "one": np.ones(1),
        "columns": np.array([1]),
    }
    nodes = [
        helper.make_node("Cast", ["X"], ["readings"], to=TensorProto.DOUBLE),
        *_scaled(model.about, constants, helper),
        *_length(model.about.norm, helper),
        helper.make_node("Max", ["length", "one"], ["divisor"]),
        helper.make_node("Div", ["features", "divisor"], ["bounded"]),
        helper.make_node("Gemm", ["bounded", "weights", "intercepts"], ["s"], transB=1),
    ]
    d, k = model.n_features_in_, len(model.weights)
    if isinstance(model, LearntClassifier):
        order = [model.about.labels.index(name) for name in model.classes_]
        constants |= {
            "labels": np.array(model.about.labels, dtype=object),
            "order": np.array(order),
        }
        likely = isinstance(model, LearntSoftmax)
        name = "probabilities" if likely else "scores"
        nodes += [
            # In the task's own order, because the first of equal scores wins.
            helper.make_node("ArgMax", ["s"], ["best"], axis=1, keepdims=0),
            helper.make_node("Gather", ["labels", "best"], ["label"]),
            helper.make_node("Softmax" if likely else "Identity", ["s"], ["p"]),
            helper.make_node("Gather", ["p", "order"], ["ordered"], axis=1),
            helper.make_node("Cast", ["ordered"], [name], to=TensorProto.FLOAT),
        ]
        outputs = [
            helper.make_tensor_value_info("label", TensorProto.STRING, ["n"]),
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", k]),
        ]
    else:
        nodes.append(helper.make_node("Cast", ["s"], ["variable"], to=TensorProto.FLOAT))
        outputs = [helper.make_tensor_value_info("variable", TensorProto.FLOAT, ["n", 1])]
    graph = helper.make_graph(
        nodes,
        model.about.task,
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", d])],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    written = helper.make_model(
        graph,
        producer_name="crowdml",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        doc_string=model.about.features,
    )
    helper.set_model_props(written, _facts(model))
    data: bytes = written.SerializeToString()
    return data


def _scaled(about: ModelDescription, constants: dict[str, Any], helper: Any) -> list[Any]:
    """Make the nodes from readings to features, as `Features.scaled_rows` computes them."""
    steps = [("Sub", "center", about.center)] if about.center else []
    if about.scale:
        most = (MOST_SCALES,)
        steps += [("Div", "scale", about.scale), ("Min", "most", most)]
        steps += [("Max", "least", tuple(-each for each in most))]
    if about.length != 1.0:
        steps.append(("Div", "divisor of all", (about.length,)))
    nodes, last = [], "readings"
    for operator, name, values in steps:
        constants[name] = np.array(values, dtype=np.float64)
        nodes.append(helper.make_node(operator, [last, name], [f"after {name}"]))
        last = f"after {name}"
    if about.missing == "center":
        constants["zero"] = np.zeros(1)
        nodes.append(helper.make_node("IsNaN", ["readings"], ["missing"]))
        nodes.append(helper.make_node("Where", ["missing", "zero", last], ["features"]))
        return nodes
    return [*nodes, helper.make_node("Identity", [last], ["features"])]


def _length(norm: int, helper: Any) -> list[Any]:
    """Make the nodes from features to their length in this norm, n×1."""
    if norm == 1:
        return [
            helper.make_node("Abs", ["features"], ["sizes"]),
            helper.make_node("ReduceSum", ["sizes", "columns"], ["length"]),
        ]
    return [
        helper.make_node("Mul", ["features", "features"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "columns"], ["square"]),
        helper.make_node("Sqrt", ["square"], ["length"]),
    ]


def _facts(model: LearntModel) -> dict[str, str]:
    """Return everything that is known about the model; lists as JSON."""
    facts = msgspec.to_builtins(model.about)
    if isinstance(model, LearntClassifier):
        facts["classes"] = model.classes_.tolist()
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in facts.items()
    }
