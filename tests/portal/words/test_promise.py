"""One promise: every place that states it states the same."""

from collections.abc import Iterator

import pytest

from crowdml.protocol import Task
from tests.portal.promise_statements import TASKS, Stating, chip, stating

EVERY = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stating]:
    with stating(tmp_path_factory.mktemp("stating")) as places:
        yield places


@EVERY
def test_every_place_states_the_same(places: Stating, task: Task) -> None:
    truth = places.value(task)
    assert places.javascript(task) == truth
    assert places.one_file(task) in (truth, None)
    assert places.consent_page(task) == truth
    assert places.command_line(task) == truth
    assert places.card(task) == truth


@EVERY
def test_the_tasks_page_states_it_too(places: Stating, task: Task) -> None:
    truth, page = places.value(task), places.task_page(task)
    assert truth.leaves in page
    assert truth.lost in page
    assert ("THIS TASK IS NOT PRIVATE." in page) == (not task.terms.private)


@EVERY
def test_every_chip_shows_what_taking_part_costs(places: Stating, task: Task) -> None:
    assert places.chips(task) == {chip(task.terms)}


def test_the_page_on_privacy_contradicts_no_promise(places: Stating) -> None:
    page = places.privacy_page()
    assert "nobody can be sure" not in page.lower()
    assert "100 %" not in page
    assert "99.9955 %" in page, "at ε = 10"
    (honest,) = (each for each in page.split(". ") if "the server being honest" in each)
    assert "as every phone’s browser gets it, it does depend on the server" in honest
    assert "it sends only your answer to one sample" in page
    assert "The answer sent is the true one 96 times in 100; otherwise it is made up." in page
