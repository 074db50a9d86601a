"""Hold a start: parameters at version 0, what they were fitted to, and how sure they are."""

import hashlib
import io
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.learnt.estimator import LearntModel
from crowdml.learnt.file import LARGEST_FILE, read_model
from crowdml.models import MODELS
from crowdml.tables import read_arrays
from crowdml.types import Array

FORMAT = "crowdml start 1"
LARGEST_PARAMETER = 1e30
"""The largest parameter: a larger one is not a fit, and may not be finite as a float32."""

Count = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Size = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_PARAMETER)]
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


@dataclass(frozen=True, eq=False)
class Start:
    """Hold the w of version 0, fitted to a pilot or learnt by an earlier task; no row of the pilot.

    Args:
        kind: The kind of model, as in a task file.
        labels: The names of the classes 0, 1, …; none for a number.
        weights: K×D, a row for each label, or one.
        intercepts: K; None for a model without.
        names: The names of the columns; none if empty.
        center: What was subtracted from each column; nothing if empty.
        scale: What each column was divided by; nothing if empty.
        length: The common divisor of all columns.
        missing: Whether rows with a missing value were rejected, or had the center there.
        norm: Rows were bounded to length 1 in this norm, 1 or 2.
        rows: Rows of the pilot; None for a model that a task has learnt.
        people: People in the pilot; None where that is not known.
        regularization: λ; 0 if unknown.
        distance: d_boot, how far w moves when it is fitted to rows drawn with replacement; None
            where that is not known, as for a model that a task has learnt.
        error: The cross-validated error of the pilot alone.
        error_margin: Half of the error's 95 % interval.
        scale_of_target: The typical size of a number that is predicted; 1 for labels.

    >>> start = Start("softmax", ("no", "yes"), np.array([[0.1], [-0.1]]), rows=40)
    >>> start.w                                                         # as float32 has them
    array([ 0.1, -0.1])
    >>> read_start(write_start(start), "a.start.npz").sha256 == start.sha256
    True
    """

    kind: str
    labels: tuple[str, ...]
    weights: Array
    intercepts: Array | None = None
    names: tuple[str, ...] = ()
    center: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    length: float = 1.0
    missing: Literal["reject", "center"] = "reject"
    norm: Literal[1, 2] = 2
    rows: int | None = None
    people: int | None = None
    regularization: float = 0.0
    distance: float | None = None
    error: float | None = None
    error_margin: float | None = None
    scale_of_target: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in MODELS:
            raise InvalidInput(f"a start's kind must be {', '.join(MODELS)}, found {self.kind!r}.")
        k = max(len(self.labels), 1)
        intercepts = np.zeros(k) if self.intercepts is None else self.intercepts
        shapes, d = (np.shape(self.weights), np.shape(intercepts)), np.shape(self.weights)[-1:]
        if shapes != ((k, *d), (k,)) or 0 in d:
            raise InvalidInput(
                f"a start of {len(self.labels)} labels must have {k}×D weights and {k} intercepts "
                f"or none, found the shapes {shapes[0]} and {shapes[1]}."
            )
        if not all(
            (np.abs(part) <= LARGEST_PARAMETER).all() for part in (self.weights, intercepts)
        ):
            raise InvalidInput("a start's parameters must be finite numbers, found others.")
        for name in ("names", "center", "scale"):
            if len(getattr(self, name)) not in (0, *d):
                raise InvalidInput(
                    f"a start of {d[0]} columns must have as many {name} or none, found "
                    f"{len(getattr(self, name))}."
                )
        if self.distance is not None and self.rows is None:
            raise InvalidInput("a start with a distance must have the number of its rows.")

    @property
    def w(self) -> Array:
        """Return the flat parameters in the model's order, rounded to float32."""
        return np.frombuffer(self.data, "<f4").astype(np.float64)

    @property
    def data(self) -> bytes:
        """Return the bytes that a check-out of version 0 carries: little-endian float32."""
        parts = [np.ravel(self.weights), *([] if self.intercepts is None else [self.intercepts])]
        return np.concatenate(parts).astype("<f4").tobytes()

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of `data`, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


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
