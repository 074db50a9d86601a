"""What an earlier version has written, as this version reads it."""

import msgspec

__all__ = ["tagged"]


def tagged(document: bytes) -> bytes:
    """An event with its tag. Earlier versions wrote none, and told events apart by their fields.

    >>> old = msgspec.msgpack.encode({"number": 1, "role": "train", "epsilon": 4.0})
    >>> msgspec.msgpack.decode(tagged(old))["type"]
    'direction'
    """
    event = msgspec.msgpack.decode(document)
    if "type" in event:
        return document
    if "what" in event:
        event["role"] = "train" if event.pop("what") == "direction" else "evaluate"
    return msgspec.msgpack.encode(
        {"type": "noise" if "releases" in event else "direction", **event}
    )
