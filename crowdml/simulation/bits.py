"""Floats seen as bit patterns, inside compiled code, at no cost."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["bits_float", "float_bits"]


@intrinsic  # type: ignore[untyped-decorator]
def float_bits(typing_context: Any, value: Any) -> Any:
    """The 32 bits of a float32, as uint32."""
    if value != types.float32:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def bits_float(typing_context: Any, word: Any) -> Any:
    """The float32 with these bits."""
    if word != types.uint32:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate
