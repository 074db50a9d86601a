"""Trying again, but ever less often, and not in step with the others."""

from crowdml.device.backoff import Backoff


def delays(n: int) -> list[float]:
    backoff = Backoff(base=1.0, longest=60.0, clock=lambda: 0.0)
    waits = []
    for _ in range(n):
        backoff.failed()
        waits.append(backoff.wait)
    return waits


def test_the_wait_doubles_up_to_its_longest() -> None:
    for k, wait in enumerate(delays(2000)):
        expected = min(60.0, 2.0 ** min(k, 30))
        assert 0.5 * expected <= wait <= 1.5 * expected


def test_devices_do_not_retry_in_step() -> None:
    """Fifty equal draws from a continuous law have a chance of practically 0 (below 1e-300)."""
    waits = {delays(1)[0] for _ in range(50)}
    assert len(waits) > 1
    assert max(waits) - min(waits) > 0.01


def test_success_starts_again() -> None:
    now = [0.0]
    backoff = Backoff(base=1.0, longest=60.0, clock=lambda: now[0])
    for _ in range(10):
        backoff.failed()
    assert not backoff.due
    backoff.succeeded()
    assert backoff.due
    backoff.failed()
    assert backoff.wait <= 1.5


def test_the_server_may_ask_for_more_patience() -> None:
    backoff = Backoff(base=1.0, clock=lambda: 0.0)
    backoff.failed(at_least=100.0)
    assert backoff.wait == 100.0


def test_postponing_never_shortens_a_wait() -> None:
    backoff = Backoff(base=1.0, clock=lambda: 0.0)
    backoff.failed(at_least=100.0)
    backoff.postpone(1.0)
    assert backoff.wait == 100.0
    backoff.postpone(200.0)
    assert backoff.wait == 200.0
