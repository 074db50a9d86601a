"""Test limits on arriving bodies, for an address and for their total memory."""

import asyncio
from contextlib import ExitStack

import pytest

from crowdml.errors import Rejected
from crowdml.server import Settings
from crowdml.server.service.bodies import UNCOUNTED_BYTES, Bodies, IncomingBody


def test_an_address_has_few_bodies_at_once() -> None:
    async def run() -> None:
        bodies = Bodies(Settings(most_bodies_per_address=2))
        with ExitStack() as stack:
            first = stack.enter_context(IncomingBody(bodies, 10, None, "203.0.113.5"))
            stack.enter_context(IncomingBody(bodies, 10, None, "203.0.113.5"))
            with (
                pytest.raises(Rejected, match="at most 2 bodies"),
                IncomingBody(bodies, 9, None, "203.0.113.5"),
            ):
                pass
            for other in ("203.0.113.6", None, None, None):
                stack.enter_context(IncomingBody(bodies, 10, None, other))
            first.mark_complete()
            stack.enter_context(IncomingBody(bodies, 10, None, "203.0.113.5"))
        assert not bodies._from, "nothing is remembered of who was here"

    asyncio.run(run())


def test_memory_is_limited_for_all_and_for_an_address() -> None:
    """Check that announced bytes take no memory, and arrived bytes do until the answer is made."""

    async def run() -> None:
        bodies = Bodies(Settings(most_waiting_bytes=8 * UNCOUNTED_BYTES))
        with ExitStack() as stack:
            here, more, there = (
                stack.enter_context(IncomingBody(bodies, 99 * UNCOUNTED_BYTES, None, address))
                for address in ("203.0.113.5", "203.0.113.5", None)
            )
            here.received(
                3 * UNCOUNTED_BYTES
            )  # alone, an address may send what a task's terms require
            here.mark_complete()
            more.received(UNCOUNTED_BYTES)
            with pytest.raises(Rejected, match="too many large bodies"):
                more.received(1)
            there.received(3 * UNCOUNTED_BYTES)
            with pytest.raises(Rejected, match="too many large bodies"):
                there.received(2 * UNCOUNTED_BYTES)
        assert bodies._bytes == 0
        assert not bodies._bytes_from

    asyncio.run(run())


def test_large_bodies_have_more_time() -> None:
    async def run() -> None:
        bodies = Bodies(Settings(body_seconds=5.0, body_bytes_per_second=1000))
        assert bodies.seconds_for(UNCOUNTED_BYTES) == 5.0
        assert bodies.seconds_for(UNCOUNTED_BYTES + 7000) == 12.0

    asyncio.run(run())
