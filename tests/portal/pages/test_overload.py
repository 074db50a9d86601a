"""Visitors who ask for too much, or for something odd: the server stays up and says so."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crowdml.errors import Rejected
from crowdml.portal.pictures.charts import CHARTS
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.render_cache import RenderCache
from crowdml.portal.words import TaskNumbers
from crowdml.portal.words.example import make_example
from crowdml.protocol import Estimate, State, Statistics, terms_hash
from crowdml.server.log.history import TaskHistory
from tests.portal.owner_browser import Portal
from tests.support.servers import create, make_task

LARGE: dict[str, dict[str, Any]] = {
    "samples": {
        "collection__batch": 20_000, "collection__buffer": 20_000, "features__count": 40,
    },
    "codebook": {"privacy__mechanism": "direction", "features__count": 20_000},
}  # fmt: skip


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    create(
        portal.database, make_task(), *(make_task(name, **large) for name, large in LARGE.items())
    )
    portal.start()
    try:
        yield portal
    finally:
        portal.kill()


@pytest.mark.parametrize("page", ["9" * 5000, "-1", "²", "x", "0", "99999999999"])
def test_a_page_that_is_none(portal: Portal, page: str) -> None:
    with portal.browser() as browser:
        reply = browser.get(f"/?page={page}" if page.isascii() else "/?page=%C2%B2")
    assert reply.status == 200
    assert b"Activity" in reply.body


@pytest.mark.parametrize("path", ["/tasks/activity/join.svg", "/tasks/activity/join"])
def test_a_host_that_is_none(portal: Portal, path: str) -> None:
    with portal.browser() as browser:
        assert browser.get(path, Host="a" * 3000).status == 400


def test_an_example_that_would_take_long_is_left_out(portal: Portal) -> None:
    with portal.browser() as browser:
        assert b"An example, from made-up samples" in browser.get("/tasks/activity").body
        for name in LARGE:
            large = browser.get(f"/tasks/{name}")
            assert large.status == 200
            assert b"An example, from made-up samples" not in large.body


def test_the_example_carries_the_terms_that_were_agreed_to() -> None:
    terms = make_task().terms
    example = make_example(terms, terms_hash("another text"), np.zeros(12), version=3)
    assert terms_hash("another text") in example.messages[0].body


def test_only_so_many_pictures_are_drawn_at_once() -> None:
    async def ask() -> tuple[list[int], int]:
        cache = RenderCache[int](most_waiting=2)
        hold = threading.Event()
        wait = lambda: int(hold.wait())  # noqa: E731
        drawn = [asyncio.create_task(cache.get((n,), wait)) for n in (1, 2)]
        await asyncio.sleep(0.05)
        again = asyncio.create_task(cache.get((1,), lambda: 99))
        with pytest.raises(Rejected, match="too many pictures") as rejection:
            await cache.get((3,), lambda: 3)
        assert rejection.value.extra["retry_after"] > 0
        hold.set()
        numbers = [*await asyncio.gather(*drawn), await again]
        return numbers, await cache.get((3,), lambda: 3)

    assert asyncio.run(ask()) == ([1, 1, 1], 3)


def test_a_failed_picture_is_drawn_anew() -> None:
    async def ask() -> int:
        cache = RenderCache[int](most_waiting=2)
        with pytest.raises(ZeroDivisionError):
            await cache.get((1,), lambda: 1 // 0)
        return await cache.get((1,), lambda: 7)

    assert asyncio.run(ask()) == 7


@pytest.mark.parametrize("label", ["over $5 and \\x$", "$a_b$", "<b>", "a" * 80, "ε & ∞"])
def test_labels_are_no_formulas(label: str) -> None:
    task = make_task(target__labels=[label, "other", "third"])
    share = Estimate(0.3, 0.1)
    statistics = Statistics(
        State.RUNNING,
        1,
        1,
        1,
        3,
        share,
        (share,) * 3,
        0.0,
        0,
        0.0,
        1.0,
        None,
        None,
        9,
        None,
        "",
        0,
    )
    numbers = TaskNumbers(task, statistics, TaskHistory([], {}))
    for theme in THEMES.values():
        assert b"<svg" in save(CHARTS["labels"].picture(numbers, theme), "svg", theme)
