"""Test that the fold needs no database, and no memory for devices that never sent anything."""

import io
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from crowdml.protocol import Task, terms_hash
from crowdml.server.log.active_devices import ActiveDevices
from crowdml.server.log.fold import Fold
from tests.server.learners import entry
from tests.support.servers import make_direction_task, make_task


def test_the_fold_needs_no_database() -> None:
    """Check that the fold is a function of the log alone."""
    code = "import sys, crowdml.server.log.fold; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("make", [make_task, make_direction_task])
@pytest.mark.parametrize("kind", ["sgd", "average-gradient"])
def test_a_snapshot_is_as_large_for_the_last_of_many_as_for_the_first(
    make: Callable[..., Task], kind: str
) -> None:
    sizes = []
    for device in (0, 10**9):
        task = make(optimizer__kind=kind)
        fold = Fold(task, terms_hash(task.terms.text))
        fold.apply(entry(task, 1)._replace(device=device))
        sizes.append(len(fold.to_bytes()))
    assert sizes[0] == sizes[1]


def test_the_terms_that_devices_pinned_decide() -> None:
    """Check that the pinned terms count, not the text that this version would write.

    Codebooks and roles depend on every byte.
    """
    task = make_direction_task(collection__evaluators=0.0, collection__counters=0.0)
    learnt = []
    for text in (task.terms.text, task.terms.text + " "):
        fold = Fold(task, terms_hash(text))
        fold.apply(entry(task, 1))
        learnt.append(fold.exported.tobytes())
    assert learnt[0] != learnt[1]


def test_active_devices_are_a_set() -> None:
    rng = np.random.default_rng(0)
    numbers = [*rng.integers(0, 500, 400).tolist(), *rng.integers(0, 2**31, 400).tolist(), 63, 64]
    active = ActiveDevices()
    for i, number in enumerate(numbers):
        active.add(number)
        assert active.count == len(set(numbers[: i + 1]))
        if i % 100 == 0:
            active = ActiveDevices(active.to_array())
    again = ActiveDevices(active.to_array())
    for number in numbers:
        again.add(number)
    assert again.count == active.count == len(set(numbers))


def test_a_large_crowd_takes_little_room() -> None:
    active = ActiveDevices()
    for device in range(100_000):
        active.add(device)
    assert active.to_array().nbytes < 30_000


def test_totals_of_another_shape_are_not_misread() -> None:
    """Check that an older snapshot is rejected.

    It has one number fewer, which would shift all of them.
    """
    task = make_task()
    fold = Fold(task, terms_hash(task.terms.text))
    fold.apply(entry(task, 1))
    with np.load(io.BytesIO(fold.to_bytes())) as arrays:
        older = dict(arrays) | {"totals": np.delete(arrays["totals"], 5)}
    buffer = io.BytesIO()
    np.savez(buffer, **older)
    with pytest.raises(ValueError, match="totals must count 3 labels, found 2"):
        Fold.from_bytes(task, terms_hash(task.terms.text), buffer.getvalue())
