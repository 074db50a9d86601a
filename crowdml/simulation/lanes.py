"""Sixteen numbers at a time, inside compiled code.

Floats and Words are vectors of sixteen float32 and uint32. Each operation becomes one or a few
vector instructions of whatever machine runs it, always: nothing depends on whether the compiler
recognises a loop. They take the usual operators, also with a plain float32 or a shift on one side.
Arrays are read and written at flat positions, without a check of bounds.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from crowdml.types import Array

__all__ = [
    "LANES", "absolute", "as_floats", "as_words", "beaten", "floor", "keep", "larger", "load",
    "one_at", "polynomial", "polynomial_of", "root", "splat", "spread", "store", "to_floats",
    "to_words", "top", "total",
]  # fmt: skip

LANES = 16

FAST = ("fast",)  # sums in any order, products fused into them; no infinity, no NaN
FLOAT, WORD = ir.FloatType(), ir.IntType(32)
FLOATS, WORDS = ir.VectorType(FLOAT, LANES), ir.VectorType(WORD, LANES)


class FloatsType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("Floats")


class WordsType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("Words")


Floats, Words = FloatsType(), WordsType()


@register_model(FloatsType)
class _FloatsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORDS)


def _all_lanes(builder: Any, value: Any) -> Any:
    """One value in every lane; a vector as it is. Whole numbers keep their lowest 32 bits."""
    if isinstance(value.type, ir.VectorType):
        return value
    if isinstance(value.type, ir.IntType) and value.type != WORD:
        value = builder.trunc(value, WORD)
    kind = ir.VectorType(value.type, LANES)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(WORD, 0))
    zeros = ir.Constant(WORDS, [0] * LANES)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), zeros)


def _operator(symbol: Any, vector: Any, scalar: Any, method: str, **options: Any) -> None:
    """Teach an operator to take vectors, or a vector and a number in either order."""
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


def _emit(signature: Any, code: Callable[..., Any]) -> Any:
    """What an intrinsic returns: its types, and how LLVM's builder makes it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return code(builder, *values)

    return signature, generate


def _call(builder: Any, name: str, result: Any, *values: Any) -> Any:
    """One of LLVM's own functions."""
    kind = ir.FunctionType(result, [value.type for value in values])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, values, fastmath=FAST)


# From and to memory.


def _place(context: Any, builder: Any, signature: Any, values: Any, kind: Any) -> Any:
    """Where in memory an intrinsic's first two arguments, an array and a position, point."""
    array = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), kind.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load(context: Any, array: Any, at: Any) -> Any:
    """array[at : at + 16], as Words if it holds uint32, otherwise as Floats."""
    vector, kind = (Words, WORDS) if array.dtype == types.uint32 else (Floats, FLOATS)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_place(context, builder, signature, values, kind), align=4)

    return vector(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(context: Any, array: Any, at: Any, v: Any) -> Any:
    """array[at : at + 16] = v."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature, values, values[2].type)
        builder.store(values[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, v), generate


@intrinsic  # type: ignore[untyped-decorator]
def spread(context: Any, array: Any, at: Any) -> Any:
    """array[at] in every lane."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, signature, values, FLOAT)
        return _all_lanes(builder, builder.load(place))

    return Floats(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def splat(context: Any, value: Any) -> Any:
    """One float32 in every lane."""
    return _emit(Floats(types.float32), _all_lanes)


# Lane by lane.


@intrinsic  # type: ignore[untyped-decorator]
def larger(context: Any, a: Any, b: Any) -> Any:
    """max(a, b); b may be one number."""

    def code(builder: Any, a: Any, b: Any) -> Any:
        b = _all_lanes(builder, b)
        return builder.select(builder.fcmp_ordered(">", a, b, flags=FAST), a, b)

    return _emit(Floats(Floats, b), code)


@intrinsic  # type: ignore[untyped-decorator]
def absolute(context: Any, v: Any) -> Any:
    """|v|."""
    return _emit(Floats(Floats), lambda b, v: _call(b, "llvm.fabs.v16f32", FLOATS, v))


@intrinsic  # type: ignore[untyped-decorator]
def floor(context: Any, v: Any) -> Any:
    """⌊v⌋."""
    return _emit(Floats(Floats), lambda b, v: _call(b, "llvm.floor.v16f32", FLOATS, v))


@intrinsic  # type: ignore[untyped-decorator]
def root(context: Any, v: Any) -> Any:
    """√v."""
    return _emit(Floats(Floats), lambda b, v: _call(b, "llvm.sqrt.v16f32", FLOATS, v))


def polynomial_of(function: Callable[[Array], Array], degree: int) -> tuple[np.float32, ...]:
    """Coefficients, highest first, of a function of f in [0, 1), best at Chebyshev's points."""
    nodes = (np.cos(np.pi * (np.arange(64) + 0.5) / 64) + 1.0) / 2.0
    return tuple(np.polyfit(nodes, function(nodes), degree).astype(np.float32))


@intrinsic  # type: ignore[untyped-decorator]
def polynomial(context: Any, coefficients: Any, v: Any) -> Any:
    """c₀vⁿ + c₁vⁿ⁻¹ + … + cₙ."""

    def code(builder: Any, values: Any, v: Any) -> Any:
        first, *rest = (
            _all_lanes(builder, builder.extract_value(values, k)) for k in range(len(coefficients))
        )
        for c in rest:
            first = builder.fadd(builder.fmul(first, v, flags=FAST), c, flags=FAST)
        return first

    return _emit(Floats(coefficients, Floats), code)


def _number(builder: Any) -> Any:
    """0 … 15, the number of each lane."""
    return ir.Constant(WORDS, list(range(LANES)))


@intrinsic  # type: ignore[untyped-decorator]
def keep(context: Any, v: Any, n: Any, otherwise: Any) -> Any:
    """The first n lanes of v, and one number in the others."""

    def code(builder: Any, v: Any, n: Any, otherwise: Any) -> Any:
        kept = builder.icmp_signed("<", _number(builder), _all_lanes(builder, n))
        return builder.select(kept, v, _all_lanes(builder, otherwise))

    return _emit(Floats(Floats, types.int64, types.float32), code)


@intrinsic  # type: ignore[untyped-decorator]
def one_at(context: Any, k: Any) -> Any:
    """1 in lane k, 0 in the others; no lane if k is not 0 … 15."""

    def code(builder: Any, k: Any) -> Any:
        here = builder.icmp_signed("==", _number(builder), _all_lanes(builder, k))
        return builder.uitofp(here, FLOATS)

    return _emit(Floats(types.int64), code)


# Floats seen as bit patterns, and whole numbers as floats.


@intrinsic  # type: ignore[untyped-decorator]
def as_words(context: Any, v: Any) -> Any:
    """The bits of floats."""
    return _emit(Words(Floats), lambda b, v: b.bitcast(v, WORDS))


@intrinsic  # type: ignore[untyped-decorator]
def as_floats(context: Any, v: Any) -> Any:
    """The floats with these bits."""
    return _emit(Floats(Words), lambda b, v: b.bitcast(v, FLOATS))


@intrinsic  # type: ignore[untyped-decorator]
def to_words(context: Any, v: Any) -> Any:
    """Whole numbers, cut towards 0; negative ones as two's complement."""
    return _emit(Words(Floats), lambda b, v: b.fptosi(v, WORDS))


@intrinsic  # type: ignore[untyped-decorator]
def to_floats(context: Any, v: Any) -> Any:
    """Words, taken as signed numbers, as floats."""
    return _emit(Floats(Words), lambda b, v: b.sitofp(v, FLOATS))


# Across lanes.


@intrinsic  # type: ignore[untyped-decorator]
def total(context: Any, v: Any) -> Any:
    """The sum of all lanes."""

    def code(builder: Any, v: Any) -> Any:
        zero = ir.Constant(FLOAT, 0.0)
        return _call(builder, "llvm.vector.reduce.fadd.v16f32", FLOAT, zero, v)

    return _emit(types.float32(Floats), code)


@intrinsic  # type: ignore[untyped-decorator]
def top(context: Any, v: Any) -> Any:
    """The largest of all lanes."""

    def code(builder: Any, v: Any) -> Any:
        return _call(builder, "llvm.vector.reduce.fmax.v16f32", FLOAT, v)

    return _emit(types.float32(Floats), code)


@intrinsic  # type: ignore[untyped-decorator]
def beaten(context: Any, v: Any, value: Any, place: Any) -> Any:
    """Whether a lane is larger than a value, or as large and before lane number `place`."""

    def code(builder: Any, v: Any, value: Any, place: Any) -> Any:
        value, place = _all_lanes(builder, value), _all_lanes(builder, place)
        earlier = builder.icmp_signed("<", _number(builder), place)
        equal = builder.and_(builder.fcmp_ordered("==", v, value), earlier)
        lanes = builder.or_(builder.fcmp_ordered(">", v, value), equal)
        bits = builder.bitcast(lanes, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return _emit(types.boolean(Floats, types.float32, types.int64), code)
