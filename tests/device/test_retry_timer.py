"""Test retries: ever less often, not in step with others, and with a reason for waiting."""

import pytest

from crowdml.device import Outcome, RetryTimer
from crowdml.privacy import SystemChance


class Fixed(SystemChance):
    """Return the same share of what was asked for every time."""

    def __init__(self, share: float) -> None:
        self.share = share

    def below(self, n: int) -> int:
        return int(self.share * n)


def delays(n: int) -> list[float]:
    retry_timer = RetryTimer(base=1.0, longest=60.0, clock=lambda: 0.0)
    waits = []
    for _ in range(n):
        retry_timer.wait_after_failure(Outcome.WAITING)
        waits.append(retry_timer.seconds)
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
    retry_timer = RetryTimer(base=1.0, longest=60.0, clock=lambda: 0.0)
    for _ in range(10):
        retry_timer.wait_after_failure(Outcome.PAUSED)
    assert not retry_timer.is_due
    retry_timer.clear()
    assert retry_timer.is_due
    assert retry_timer.reason is Outcome.WAITING
    retry_timer.wait_after_failure(Outcome.WAITING)
    assert retry_timer.seconds <= 1.5


def test_the_server_may_ask_for_more_patience() -> None:
    retry_timer = RetryTimer(base=1.0, clock=lambda: 0.0)
    retry_timer.wait_after_failure(Outcome.WAITING, at_least=100.0)
    assert retry_timer.seconds == 100.0


@pytest.mark.parametrize("why", [Outcome.WAITING, Outcome.PAUSED, Outcome.TERMS])
def test_it_knows_what_it_waits_for(why: Outcome) -> None:
    retry_timer = RetryTimer(clock=lambda: 0.0)
    assert retry_timer.wait_after_failure(why) is why
    assert retry_timer.reason is why


def test_asking_changes_nothing() -> None:
    now = [0.0]
    retry_timer = RetryTimer(jitter=10.0, clock=lambda: now[0], chance=Fixed(0.5))
    retry_timer.batch_filled()
    for _ in range(3):
        assert (retry_timer.is_due, retry_timer.seconds) == (False, 5.0)
    now[0] = 5.0
    assert (retry_timer.is_due, retry_timer.seconds) == (True, 0.0)


def test_jitter_is_drawn_once_for_a_minibatch() -> None:
    now = [0.0]
    retry_timer = RetryTimer(jitter=10.0, clock=lambda: now[0], chance=Fixed(0.5))
    retry_timer.batch_filled()
    now[0] = 4.0
    retry_timer.batch_filled()
    assert retry_timer.seconds == 1.0
    retry_timer.clear()
    retry_timer.batch_filled()
    assert retry_timer.seconds == 5.0, "the next minibatch has a moment of its own to hide"


def test_jitter_never_shortens_a_wait() -> None:
    retry_timer = RetryTimer(jitter=10.0, clock=lambda: 0.0, chance=Fixed(0.5))
    retry_timer.wait_after_failure(Outcome.WAITING, at_least=100.0)
    retry_timer.batch_filled()
    assert retry_timer.seconds == 100.0


def test_what_is_done_takes_whole_slots() -> None:
    """Check that a longer draw is not sent later, unless it takes longer than a slot."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 0.25
        now[0] += seconds

    retry_timer = RetryTimer(slot=0.25, clock=lambda: now[0], sleep=sleep)
    for took, ends in [(0.001, 0.25), (0.2, 0.25), (0.26, 0.5), (1.0, 1.25)]:
        now[0] = 100.0
        with retry_timer.whole_slots():
            now[0] += took
        assert now[0] == pytest.approx(100 + ends)


@pytest.mark.parametrize(("took", "ends"), [(0.001, 0.75), (0.26, 0.75), (0.76, 1.5)])
def test_more_work_has_more_slots(took: float, ends: float) -> None:
    """Check a public number: work that may take three slots is sent after three, or six."""
    now = [0.0]
    retry_timer = RetryTimer(slot=0.25, clock=lambda: now[0], sleep=lambda seconds: step(seconds))

    def step(seconds: float) -> None:
        now[0] += seconds

    with retry_timer.whole_slots(3):
        now[0] += took
    assert now[0] == pytest.approx(ends)
