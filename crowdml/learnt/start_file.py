"""Read and write the file of a start."""

import io
from dataclasses import fields
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.learnt.estimator import LearntModel
from crowdml.learnt.file import LARGEST_FILE, read_model
from crowdml.protocol import Start
from crowdml.tables import read_arrays

FORMAT = "crowdml start 1"

Count = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Size = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
Numbers = tuple[float, ...]


class _Facts(TypedDict):
    """Hold what a file says besides its parameters."""

    kind: str
    labels: tuple[str, ...]
    names: tuple[str, ...]
    center: Numbers
    scale: Numbers
    length: float
    missing: Literal["reject", "center"]
    norm: Literal[1, 2]
    rows: NotRequired[Count]
    people: NotRequired[Count]
    regularization: Size
    distance: NotRequired[Size]
    error: NotRequired[Annotated[float, msgspec.Meta(ge=0, le=1)]]
    error_margin: NotRequired[Annotated[float, msgspec.Meta(ge=0, le=1)]]
    scale_of_target: Size


def write_start(start: Start) -> bytes:
    """Write an .npz file without the fields that are unknown, and return its bytes."""
    buffer = io.BytesIO()
    facts = {field.name: getattr(start, field.name) for field in fields(start)}
    arrays: dict[str, Any] = {
        name: np.array(value, dtype=np.str_ if name in ("labels", "names") else None)
        for name, value in facts.items()
        if value is not None
    }
    np.savez(buffer, format=np.array(FORMAT), **arrays)
    return buffer.getvalue()


def read_start(data: bytes, name: str) -> Start:
    """Read a start, or a model that crowdml has exported; errors call the file `name`."""
    if not data.startswith(b"PK"):
        return start_from_model(read_model(data, name))
    arrays = read_arrays(data, name, LARGEST_FILE)
    if "format" in arrays and arrays["format"].tolist() != FORMAT:
        return start_from_model(read_model(data, name))
    said = {key: array.tolist() for key, array in arrays.items()}
    try:
        weights, intercepts = said.pop("weights"), said.pop("intercepts", None)
        facts = msgspec.convert(said, _Facts)
        return Start(
            weights=np.array(weights, dtype=np.float64),
            intercepts=None if intercepts is None else np.array(intercepts, dtype=np.float64),
            **facts,
        )
    except KeyError as error:
        raise _not_a_start(name, f"it has no {error}") from error
    except (TypeError, ValueError) as error:
        raise _not_a_start(name, error) from error


def start_from_model(model: LearntModel) -> Start:
    """Make a start of a learnt model, whose distance from the next crowd's model is unknown."""
    same = ("kind", "labels", "center", "scale", "length", "missing", "norm")
    return Start(
        weights=model.weights,
        intercepts=model.intercepts if model.intercepts.any() else None,
        names=model.about.names if model.about.named else (),
        **{name: getattr(model.about, name) for name in same},
    )


def _not_a_start(name: str, why: object) -> InvalidInput:
    return InvalidInput(
        f"{name} must be a start that crowdml has written, or a model that it has exported, but: "
        f"{str(why).removesuffix('.')}. Write it again."
    )
