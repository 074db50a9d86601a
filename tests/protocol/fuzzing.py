"""Bytes from a fuzzer that sees which lines they reach.

`python -m tests.protocol.fuzzing codec -runs=100000`, or `task` or `terms`. It ends with an error
at the first input that raises what it should not.
"""

import contextlib
import sys

import atheris

with atheris.instrument_imports(
    include=["crowdml.protocol", "crowdml.privacy", "crowdml.server.http.body"]
):
    import msgspec

    from crowdml.errors import InvalidInput, Rejected
    from crowdml.privacy import Implausible, Place
    from crowdml.protocol import Task, Terms, checkin_type, decode_parameters
    from crowdml.server.http.body import decode

from tests.servers import checkin, make_directed, make_task

__all__ = ["SEEDS"]

NOISY, DIRECTED = make_task().terms, make_directed().terms
SEEDS = {
    "codec": checkin(make_task()),
    "task": b'name = "a"\ntitle = "a"\n[features]\ncount = 2\n[model]\nkind = "softmax"\n',
    "terms": NOISY.text.encode(),
}


def codec(data: bytes) -> None:
    """What a device sends, up to the gate's last question."""
    with contextlib.suppress(InvalidInput):
        decode_parameters(data, max(1, len(data) // 4))
    for terms in (NOISY, DIRECTED):
        mechanism = terms.mechanism()
        with contextlib.suppress(Rejected, Implausible):
            message = decode(msgspec.json.Decoder(checkin_type(mechanism.payload_type)), data)
            mechanism.check(message, Place("", "", 1))


def task(data: bytes) -> None:
    """What an owner writes."""
    with contextlib.suppress(InvalidInput):
        Task.from_toml(data.decode("utf-8", "replace"))


def terms(data: bytes) -> None:
    """What a server shows."""
    with contextlib.suppress(InvalidInput):
        Terms.parse(data.decode("utf-8", "replace"))


if __name__ == "__main__":
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, {"codec": codec, "task": task, "terms": terms}[name])
    atheris.Fuzz()
