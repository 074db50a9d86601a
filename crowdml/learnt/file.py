"""Read and write the model as a file: npz and JSON both ways, ONNX for other programs."""

import io
from typing import Any

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.learnt.estimator import LearntModel, make_estimator
from crowdml.learnt.model_description import ModelDescription
from crowdml.tables import read_arrays

MODEL_FORMATS = {
    "npz": "application/octet-stream",
    "json": "application/json",
    "onnx": "application/octet-stream",
}
"""The formats of a file, each with its media type."""

LARGEST_FILE = 2**26
"""The most bytes of a file: twice the largest model with a long name for each column."""


def write_model(model: LearntModel, format: str) -> bytes:
    """Return the bytes of a file in one of `MODEL_FORMATS`."""
    about = msgspec.structs.asdict(model.about)
    match format:
        case "json":
            # Written row by row, so that other threads can run in between.
            rows = [msgspec.Raw(msgspec.json.encode(row.tolist())) for row in model.weights]
            numbers = {"weights": rows, "intercepts": model.intercepts.tolist()}
            return msgspec.json.encode(about | numbers)
        case "onnx":
            from crowdml.learnt.graph import onnx_model

            return onnx_model(model)
        case _:
            buffer = io.BytesIO()
            arrays: dict[str, Any] = {name: _array(value) for name, value in about.items()}
            np.savez(buffer, weights=model.weights, intercepts=model.intercepts, **arrays)
            return buffer.getvalue()


def _array(value: object) -> Any:
    texts = isinstance(value, tuple) and all(isinstance(entry, str) for entry in value)
    return np.array(value, dtype=np.str_ if texts else None)


def read_model(data: bytes, name: str, most: int = LARGEST_FILE) -> LearntModel:
    """Read the model in an npz or JSON file.

    Args:
        data: What is in the file.
        name: What errors call it.
        most: The most bytes that it may have, once unpacked.
    """
    if len(data) > most:
        raise InvalidInput(f"{name} must have at most {most:,} bytes, found {len(data):,}.")
    if data.startswith(b"PK"):
        arrays = read_arrays(data, name, most)
        return _model({key: array.tolist() for key, array in arrays.items()}, name)
    if data.lstrip().startswith(b"{"):
        try:
            said = msgspec.json.decode(data, type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise _not_a_model(name, error) from error
        return _model(said, name)
    what = "is for onnxruntime" if name.endswith(".onnx") else "is neither"
    raise InvalidInput(
        f"a model must be an .npz or .json file that crowdml has exported, and {name} {what}."
    )


def _model(said: dict[str, Any], name: str) -> LearntModel:
    try:
        weights, intercepts = (
            np.array(said.pop(part), dtype=np.float64) for part in ("weights", "intercepts")
        )
        about = msgspec.convert(said, ModelDescription)
    except KeyError as error:
        raise _not_a_model(name, f"it has no {error}") from error
    except (TypeError, ValueError) as error:
        raise _not_a_model(name, error) from error
    return make_estimator(about, weights, intercepts)


def _not_a_model(name: str, why: object) -> InvalidInput:
    return InvalidInput(f"{name} must be a model that crowdml has exported, but: {why}.")
