"""Test arrays as little-endian bytes, encoded and decoded."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.protocol import decode_parameters, encode_parameters

float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(st.lists(float32, max_size=30))
def test_parameters(values: list[float]) -> None:
    data = encode_parameters(np.array(values, dtype=np.float64))
    assert data == struct.pack(f"<{len(values)}f", *values)
    found = decode_parameters(data, len(values))
    assert found.tolist() == values
    assert found.dtype == np.float64


def test_decoded_arrays_can_be_written() -> None:
    decode_parameters(bytes(8), 2)[0] = 1.0


@pytest.mark.parametrize("length", [0, 7, 9, 4, 12, 800])
def test_rejects_other_lengths(length: int) -> None:
    with pytest.raises(InvalidInput, match=f"8 bytes, found {length}"):
        decode_parameters(bytes(length), 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_rejects_parameters_that_are_not_numbers(value: float) -> None:
    with pytest.raises(InvalidInput, match="finite numbers, found nan or inf"):
        decode_parameters(struct.pack("<2f", 1.0, value), 2)
