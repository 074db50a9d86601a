"""Test retries: ever less often, not in step with others, and with a reason for waiting."""

import pytest

from crowdml.device import Outcome, Waiting
from crowdml.privacy import SystemChance


class Fixed(SystemChance):
    """Return the same share of what was asked for every time."""

    def __init__(self, share: float) -> None:
        self.share = share

    def below(self, n: int) -> int:
        return int(self.share * n)


def delays(n: int) -> list[float]:
    waiting = Waiting(base=1.0, longest=60.0, clock=lambda: 0.0)
    waits = []
    for _ in range(n):
        waiting.hold(Outcome.WAITING)
        waits.append(waiting.seconds)
    return waits


def test_the_wait_doubles_up_to_its_longest() -> None:
    for k, wait in enumerate(delays(2000)):
        expected = min(60.0, 2.0 ** min(k, 30))
        assert 0.5 * expected <= wait <= 1.5 * expected


def test_devices_do_not_retry_in_step() -> None:
    """Fifty draws within 0.01 of each other have a probability below 1e-90."""
    waits = {delays(1)[0] for _ in range(50)}
    assert len(waits) > 1
    assert max(waits) - min(waits) > 0.01


def test_success_starts_again() -> None:
    waiting = Waiting(base=1.0, longest=60.0, clock=lambda: 0.0)
    for _ in range(10):
        waiting.hold(Outcome.PAUSED)
    assert not waiting.due
    waiting.clear()
    assert waiting.due
    assert waiting.why is Outcome.WAITING
    waiting.hold(Outcome.WAITING)
    assert waiting.seconds <= 1.5


def test_the_server_may_ask_for_more_patience() -> None:
    waiting = Waiting(base=1.0, clock=lambda: 0.0)
    waiting.hold(Outcome.WAITING, at_least=100.0)
    assert waiting.seconds == 100.0


@pytest.mark.parametrize("why", [Outcome.WAITING, Outcome.PAUSED, Outcome.TERMS])
def test_it_knows_what_it_waits_for(why: Outcome) -> None:
    waiting = Waiting(clock=lambda: 0.0)
    assert waiting.hold(why) is why
    assert waiting.why is why


def test_asking_changes_nothing() -> None:
    now = [0.0]
    waiting = Waiting(jitter=10.0, clock=lambda: now[0], chance=Fixed(0.5))
    waiting.batch_filled()
    for _ in range(3):
        assert (waiting.due, waiting.seconds) == (False, 5.0)
    now[0] = 5.0
    assert (waiting.due, waiting.seconds) == (True, 0.0)


def test_jitter_is_drawn_once_for_a_minibatch() -> None:
    now = [0.0]
    waiting = Waiting(jitter=10.0, clock=lambda: now[0], chance=Fixed(0.5))
    waiting.batch_filled()
    now[0] = 4.0
    waiting.batch_filled()
    assert waiting.seconds == 1.0
    waiting.clear()
    waiting.batch_filled()
    assert waiting.seconds == 5.0, "the next minibatch has a moment of its own to hide"


def test_jitter_never_shortens_a_wait() -> None:
    waiting = Waiting(jitter=10.0, clock=lambda: 0.0, chance=Fixed(0.5))
    waiting.hold(Outcome.WAITING, at_least=100.0)
    waiting.batch_filled()
    assert waiting.seconds == 100.0


def test_what_is_done_takes_whole_slots() -> None:
    """Check that a longer draw is not sent later, unless it takes longer than a slot."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 0.25
        now[0] += seconds

    waiting = Waiting(slot=0.25, clock=lambda: now[0], sleep=sleep)
    for took, ends in [(0.001, 0.25), (0.2, 0.25), (0.26, 0.5), (1.0, 1.25)]:
        now[0] = 100.0
        with waiting.whole_slots():
            now[0] += took
        assert now[0] == pytest.approx(100 + ends)


@pytest.mark.parametrize(("took", "ends"), [(0.001, 0.75), (0.26, 0.75), (0.76, 1.5)])
def test_more_work_has_more_slots(took: float, ends: float) -> None:
    """Check a public number: work that may take three slots is sent after three, or six."""
    now = [0.0]
    waiting = Waiting(slot=0.25, clock=lambda: now[0], sleep=lambda seconds: step(seconds))

    def step(seconds: float) -> None:
        now[0] += seconds

    with waiting.whole_slots(3):
        now[0] += took
    assert now[0] == pytest.approx(ends)
