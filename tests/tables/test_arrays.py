"""Test that small archives that unpack to much are rejected by their headers, before unpacking."""

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.device import Agreement, Identity
from crowdml.errors import InvalidInput, Unreachable
from crowdml.learnt import read_model, read_start
from crowdml.privacy import Limits
from crowdml.tables import read_arrays
from tests.support.servers import make_task

MOST = 1_000_000


def array(shape: tuple[int, ...], dtype: str, body: bytes = b"") -> bytes:
    """Make an array whose header may contradict its body."""
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + body


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, member in members.items():
            file.writestr(f"{name}.npy", member)
    return buffer.getvalue()


ZEROS = array((2 * MOST,), "<f8", bytes(16 * MOST))
TENTH = array((MOST // 80,), "<f8", bytes(MOST // 10))
BOMBS = {
    "many bytes": archive(weights=ZEROS),
    "many small members": archive(**{f"w{n}": TENTH for n in range(11)}),
    "values without bytes": archive(weights=array((MOST,), "<U0")),
    "lists without entries": archive(weights=array((MOST, 0), "<f8")),
    "a longer header": archive(weights=array((100_000,), "<f8", bytes(80))),
    "a shorter header": archive(weights=array((1,), "<f8", bytes(80_000))),
    "beyond all numbers": archive(weights=array((2**62, 2**62), "<f8")),
}  # fmt: skip


@pytest.mark.parametrize("data", BOMBS.values(), ids=list(BOMBS))
def test_what_is_larger_than_it_may_be_is_not_read(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=r"m must (have|be)"):
            read_arrays(data, "m", MOST)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [read_model, read_start])
def test_models_and_starts_have_a_bound_of_their_own(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("file", "start_file"):
        monkeypatch.setattr(f"crowdml.learnt.{module}.LARGEST_FILE", MOST)
    monkeypatch.setattr(read_model, "__defaults__", (MOST,))
    with pytest.raises(InvalidInput, match=f"m must have at most {MOST:,} bytes of arrays"):
        read(BOMBS["many bytes"], "m")


@pytest.mark.parametrize(
    "data",
    [BOMBS["many bytes"], b'{"weights": [' + b"0," * MOST + b"0]}"],
    ids=["npz", "json"],
)
def test_a_device_unpacks_no_more_than_its_terms_allow(data: bytes) -> None:
    """Check a lying server's answers to `predict`: 16 KB that become 16 MB, or a long list."""
    task = make_task()
    agreement = Agreement(Identity("u", "a", "d", "t", task.terms.text, Limits(1.0, 1.0)))
    tracemalloc.start()
    try:
        with pytest.raises(Unreachable, match="the server's answer must have at most"):
            agreement.accept_export(data)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def test_a_file_of_ones_own_may_be_of_any_size(tmp_path: Path) -> None:
    (tmp_path / "own.npz").write_bytes(BOMBS["many bytes"])
    assert read_arrays(tmp_path / "own.npz", "own", MOST)["weights"].size == 2 * MOST
