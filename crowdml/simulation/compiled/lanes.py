"""Compute with sixteen numbers at a time, inside compiled code.

Floats and Words are vectors of sixteen float32 and uint32. Each operation becomes one or a few
vector instructions of whatever machine runs it, always: nothing depends on whether the compiler
recognises a loop. They take the usual operators, also with a plain float32 or a shift on one side.
Arrays are read and written at flat positions, without a check of bounds.
"""

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from crowdml.types import Array

LANES = 16

FAST = ("fast",)  # sums in any order, products fused into them; no infinity, no NaN
FLOAT, WORD = ir.FloatType(), ir.IntType(32)
FLOATS, WORDS = ir.VectorType(FLOAT, LANES), ir.VectorType(WORD, LANES)
NUMBERS = ir.Constant(WORDS, list(range(LANES)))
"""0 … 15, the number of each lane."""


class VectorType(types.Type):  # type: ignore[misc]
    """Type Floats or Words; numba distinguishes them by their names."""


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS if kind.name == "Floats" else WORDS)


Floats, Words = VectorType("Floats"), VectorType("Words")


def _all_lanes(builder: Any, value: Any) -> Any:
    """Put a value into every lane, or return a vector unchanged; integers keep 32 low bits."""
    if isinstance(value.type, ir.VectorType):
        return value
    if isinstance(value.type, ir.IntType) and value.type != WORD:
        value = builder.trunc(value, WORD)
    kind = ir.VectorType(value.type, LANES)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(WORD, 0))
    zeros = ir.Constant(WORDS, [0] * LANES)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), zeros)


def _operator(symbol: Any, vector: Any, scalar: Any, method: str, **options: Any) -> None:
    """Let an operator take vectors, or a vector and a number in either order."""
    cases = [vector(vector, vector), vector(vector, scalar), vector(scalar, vector)]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        lanes = (_all_lanes(builder, value) for value in values)
        return getattr(builder, method)(*lanes, **options)

    infer_global(symbol)(type(f"{vector.name}_{method}", (ConcreteTemplate,), {"cases": cases}))
    for case in cases:
        lower_builtin(symbol, *case.args)(generate)


_operator(operator.add, Floats, types.float32, "fadd", flags=FAST)
_operator(operator.sub, Floats, types.float32, "fsub", flags=FAST)
_operator(operator.mul, Floats, types.float32, "fmul", flags=FAST)
_operator(operator.truediv, Floats, types.float32, "fdiv", flags=FAST)
_operator(operator.add, Words, types.int64, "add")
_operator(operator.and_, Words, types.int64, "and_")
_operator(operator.or_, Words, types.int64, "or_")
_operator(operator.xor, Words, types.int64, "xor")
_operator(operator.lshift, Words, types.int64, "shl")
_operator(operator.rshift, Words, types.int64, "lshr")


def _intrinsic(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make an intrinsic of these types from what LLVM's builder does with values.

    An argument that is None keeps the type that it is given.
    """

    def made(code: Callable[..., Any]) -> Any:
        @wraps(code)  # numba asks for the names of the arguments
        def operation(context: Any, *given: Any) -> Any:
            kinds = (own or other for own, other in zip(arguments, given, strict=True))
            return result(*kinds), lambda context, builder, _, values: code(builder, *values)

        return intrinsic(operation)

    return made


def _call(builder: Any, name: str, result: Any, *values: Any) -> Any:
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(result, [value.type for value in values])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, values, fastmath=FAST)


# From and to memory.


def _place(context: Any, builder: Any, signature: Any, values: Any, kind: Any) -> Any:
    """Compute the address of an intrinsic's first two arguments, an array and a position."""
    array = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), kind.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load(context: Any, array: Any, at: Any) -> Any:
    """Load array[at : at + 16], as Words if it holds uint32, otherwise as Floats."""
    vector, kind = (Words, WORDS) if array.dtype == types.uint32 else (Floats, FLOATS)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_place(context, builder, signature, values, kind), align=4)

    return vector(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(context: Any, array: Any, at: Any, v: Any) -> Any:
    """Store v into array[at : at + 16]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature, values, values[2].type)
        builder.store(values[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, v), generate


@intrinsic  # type: ignore[untyped-decorator]
def spread(context: Any, array: Any, at: Any) -> Any:
    """Put array[at] into every lane."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature, values, FLOAT)
        return _all_lanes(builder, builder.load(place))

    return Floats(array, types.int64), generate


splat = _intrinsic(Floats, types.float32)(_all_lanes)
"""One float32 in every lane."""


# Lane by lane.


def _extreme(sign: str) -> Any:
    def code(builder: Any, a: Any, b: Any) -> Any:
        b = _all_lanes(builder, b)
        return builder.select(builder.fcmp_ordered(sign, a, b, flags=FAST), a, b)

    return _intrinsic(Floats, Floats, None)(code)


larger, smaller = _extreme(">"), _extreme("<")
"""max(a, b) and min(a, b); b may be one number."""


@_intrinsic(Floats, Floats, types.float32, Floats)
def below(builder: Any, v: Any, value: Any, otherwise: Any) -> Any:
    """Keep the lanes of v that are below a value, and take the others from `otherwise`."""
    kept = builder.fcmp_ordered("<", v, _all_lanes(builder, value), flags=FAST)
    return builder.select(kept, v, otherwise)


absolute = _intrinsic(Floats, Floats)(lambda b, v: _call(b, "llvm.fabs.v16f32", FLOATS, v))
floor = _intrinsic(Floats, Floats)(lambda b, v: _call(b, "llvm.floor.v16f32", FLOATS, v))
root = _intrinsic(Floats, Floats)(lambda b, v: _call(b, "llvm.sqrt.v16f32", FLOATS, v))


def polynomial_of(function: Callable[[Array], Array], degree: int) -> tuple[np.float32, ...]:
    """Fit coefficients, highest first, of a function of f in [0, 1), best at Chebyshev's points."""
    nodes = (np.cos(np.pi * (np.arange(64) + 0.5) / 64) + 1.0) / 2.0
    return tuple(np.polyfit(nodes, function(nodes), degree).astype(np.float32))


@_intrinsic(Floats, None, Floats)
def polynomial(builder: Any, values: Any, v: Any) -> Any:
    """Compute c₀vⁿ + c₁vⁿ⁻¹ + … + cₙ."""
    first, *rest = (
        _all_lanes(builder, builder.extract_value(values, k)) for k in range(values.type.count)
    )
    for c in rest:
        first = builder.fadd(builder.fmul(first, v, flags=FAST), c, flags=FAST)
    return first


@_intrinsic(Floats, Floats, types.int64, types.float32)
def keep(builder: Any, v: Any, n: Any, otherwise: Any) -> Any:
    """Keep the first n lanes of v, and put one number into the others."""
    kept = builder.icmp_signed("<", NUMBERS, _all_lanes(builder, n))
    return builder.select(kept, v, _all_lanes(builder, otherwise))


@_intrinsic(Floats, types.int64)
def one_at(builder: Any, k: Any) -> Any:
    """Set lane k to 1 and the others to 0; no lane if k is not 0 … 15."""
    here = builder.icmp_signed("==", NUMBERS, _all_lanes(builder, k))
    return builder.uitofp(here, FLOATS)


# Floats seen as bit patterns, and whole numbers as floats.


as_words = _intrinsic(Words, Floats)(lambda b, v: b.bitcast(v, WORDS))
as_floats = _intrinsic(Floats, Words)(lambda b, v: b.bitcast(v, FLOATS))
to_words = _intrinsic(Words, Floats)(lambda b, v: b.fptosi(v, WORDS))
"""Convert Floats to Words: cut towards 0; negative numbers become two's complement."""

to_floats = _intrinsic(Floats, Words)(lambda b, v: b.sitofp(v, FLOATS))
"""Convert Words, taken as signed numbers, to Floats."""


# Across lanes.


ZERO = ir.Constant(FLOAT, 0.0)
SUM, MAXIMUM = "llvm.vector.reduce.fadd.v16f32", "llvm.vector.reduce.fmax.v16f32"
total = _intrinsic(types.float32, Floats)(lambda b, v: _call(b, SUM, FLOAT, ZERO, v))
largest_lane = _intrinsic(types.float32, Floats)(lambda b, v: _call(b, MAXIMUM, FLOAT, v))
"""The largest of all lanes."""


@_intrinsic(types.boolean, Floats, types.float32, types.int64)
def beaten(builder: Any, v: Any, value: Any, place: Any) -> Any:
    """Return whether a lane is larger than a value, or equal and before lane number `place`."""
    value, place = _all_lanes(builder, value), _all_lanes(builder, place)
    earlier = builder.icmp_signed("<", NUMBERS, place)
    equal = builder.and_(builder.fcmp_ordered("==", v, value), earlier)
    lanes = builder.or_(builder.fcmp_ordered(">", v, value), equal)
    bits = builder.bitcast(lanes, ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
