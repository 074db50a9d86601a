"""Test Algorithm 1 through every trouble: outages, limits, changed terms, strange servers."""

import json
import logging
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.device import Device, DeviceStore, Outcome, RetryTimer, RightCount
from crowdml.errors import (
    DeviceError,
    InvalidInput,
    InvalidSample,
    NotPrivate,
    Rejected,
    TermsChanged,
    Unreachable,
)
from crowdml.learnt import LearntModel, ModelDescription, make_estimator, write_model
from crowdml.models import Softmax
from crowdml.privacy import (
    CheckinKey,
    DirectionEvent,
    DirectionMechanism,
    DirectionPayload,
    Limits,
    NoiseEvent,
    NoiseMechanism,
    Role,
    Roles,
    quantize,
    role_of,
    sensitivity_steps,
)
from crowdml.privacy.direction.channel import FIELDS
from crowdml.protocol import Terms, encode_parameters, terms_hash
from crowdml.types import Array
from tests.device.fakes import MemoryTransport, SilentChance, join, one_hot
from tests.privacy.seeded_chance import SeededChance
from tests.protocol.starts import make_start
from tests.support.servers import LABELS, make_task

X = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "device"


@pytest.fixture
def transport() -> MemoryTransport:
    return MemoryTransport(make_task())


@pytest.fixture
def device(file: Path, transport: MemoryTransport) -> Iterator[Device]:
    with join(file, transport) as device:
        yield device


def fill(device: Device, n: int) -> list[Outcome]:
    return [device.add(X, LABELS[i % 3]) for i in range(n)]


# The file and the identity


def test_the_file_belongs_to_its_owner_alone(file: Path, transport: MemoryTransport) -> None:
    before = os.umask(0)
    try:
        with join(file, transport) as device:
            fill(device, 4)
            files = list(file.parent.glob("device*"))
            assert len(files) == 3, "the database, its log and its index"
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    finally:
        os.umask(before)


def test_joining_again_keeps_everything(file: Path, transport: MemoryTransport) -> None:
    with join(file, transport) as device:
        fill(device, 5)
        identity, ledger = device.identity, device.ledger
        assert (device.n_samples, len(ledger.events)) == (2, 1)
    transport.terms = make_task(privacy__epsilon=9.0).terms.text
    with join(file, transport) as device:
        assert device.identity == identity
    with join(file, transport, limits=Limits(99.0, 99.0)) as device:
        assert device.identity == replace(identity, limits=Limits(99.0, 99.0))
        assert device.ledger == ledger
        assert device.n_samples == 2
    assert transport.enrolled == 1


@pytest.mark.parametrize(
    ("url", "task"), [("https://other.example", "activity"), ("https://crowd.example", "another")]
)
def test_a_file_takes_part_in_one_task_only(
    file: Path, transport: MemoryTransport, url: str, task: str
) -> None:
    join(file, transport).close()
    with pytest.raises(DeviceError, match="has joined activity at"):
        Device.join(url, task, file=file, transport=transport)
    assert transport.enrolled == 1


def test_a_failed_join_leaves_nothing_half_done(file: Path, transport: MemoryTransport) -> None:
    transport.down = Unreachable("no network")
    with pytest.raises(Unreachable):
        join(file, transport)
    transport.down = None
    with join(file, transport) as device:
        assert device.identity.device == "device-1"


def test_a_file_that_is_no_device(file: Path, transport: MemoryTransport) -> None:
    file.write_bytes(b"something else entirely" * 100)
    with pytest.raises(DeviceError, match="cannot use the device file"):
        join(file, transport)
    assert file.read_bytes().startswith(b"something else")


def test_a_device_must_have_joined(file: Path, transport: MemoryTransport) -> None:
    store = DeviceStore(file)
    with pytest.raises(DeviceError, match="has not joined"):
        Device(store, transport)
    store.close()


def test_leaving_tells_the_server_and_forgets(file: Path, transport: MemoryTransport) -> None:
    device = join(file, transport)
    fill(device, 4)
    device.leave()
    assert transport.left == ["token-1"]
    assert list(file.parent.glob("device*")) == []


# Joining is agreeing


def test_a_task_without_noise_must_be_accepted_by_name(file: Path) -> None:
    transport = MemoryTransport(make_task(privacy__epsilon=float("inf")))
    with pytest.raises(NotPrivate, match="NOT PRIVATE"):
        join(file, transport)
    assert transport.enrolled == 0
    with join(file, transport, accept_no_privacy=True) as device:
        assert not device.terms.private


def test_terms_can_be_pinned_before_joining(file: Path, transport: MemoryTransport) -> None:
    with pytest.raises(TermsChanged, match="0000"):
        join(file, transport, terms_sha256="0" * 64)
    assert transport.enrolled == 0
    join(file, transport, terms_sha256=terms_hash(transport.terms)).close()


@pytest.mark.parametrize("terms", ["", "{}", "[]", "not JSON", '{"task": "activity"}'])
def test_terms_that_make_no_sense_are_not_joined(
    file: Path, transport: MemoryTransport, terms: str
) -> None:
    transport.terms = terms
    with pytest.raises(InvalidInput, match="make no sense"):
        join(file, transport)
    assert transport.enrolled == 0


# Collecting


def test_a_label_by_its_name(file: Path) -> None:
    with join(file, MemoryTransport(make_task(collection__batch=9))) as device:
        for label in ("run", np.str_("walk"), " still "):
            device.add(X, label)
        kept = device._store._db.execute("SELECT y FROM buffer ORDER BY id").fetchall()
        assert [y for (y,) in kept] == [2.0, 1.0, 0.0]
        with pytest.raises(InvalidSample, match="must be one of still, walk, run, found 'bus'"):
            device.add(X, "bus")
        with pytest.raises(InvalidSample, match="Give the name of a label, not its number"):
            device.add(X, 1)


def test_a_label_whose_name_is_a_number(file: Path) -> None:
    task = make_task(collection__batch=9, target__labels=["1", "2", "3"])
    with join(file, MemoryTransport(task)) as device:
        for label in (1, np.int64(3), "2"):
            device.add(X, label)
        kept = device._store._db.execute("SELECT y FROM buffer ORDER BY id").fetchall()
        assert [y for (y,) in kept] == [0.0, 2.0, 1.0]
        with pytest.raises(InvalidSample, match="Labels are matched as text: write 1"):
            device.add(X, 1.0)


def test_nothing_leaves_before_a_minibatch_is_full(
    device: Device, transport: MemoryTransport
) -> None:
    assert fill(device, 2) == [Outcome.COLLECTED] * 2
    assert (transport.checkouts, transport.bodies) == (0, [])
    assert fill(device, 1) == [Outcome.CHECKED_IN]
    assert transport.messages[0].samples == 3
    assert device.n_samples == 0


def test_the_buffer_stops_at_b_and_says_so(
    device: Device, transport: MemoryTransport, caplog: pytest.LogCaptureFixture
) -> None:
    transport.down = Unreachable("no network")
    outcomes = fill(device, 33)
    assert outcomes[:2] == [Outcome.COLLECTED] * 2
    assert outcomes[2:30] == [Outcome.WAITING] * 28
    assert outcomes[30:] == [Outcome.FULL] * 3
    assert "collection has stopped" in caplog.text
    assert device.n_samples == 30
    transport.down = None
    assert fill(device, 1) == [Outcome.COLLECTED], "room again, so the new sample is kept"
    assert [message.samples for message in transport.messages] == [30]
    assert device.n_samples == 1


# Outages


def test_after_an_outage_one_check_in_holds_all_samples(
    file: Path, transport: MemoryTransport
) -> None:
    """Check n_s > b: the average, the grid and the noise must all use the actual n."""
    noise = SilentChance()
    with join(file, transport, chance=noise) as device:
        transport.down = Unreachable("no network")
        rng = np.random.default_rng(0)
        x, y = rng.dirichlet(np.ones(4), 7), rng.integers(0, 3, 7)
        for features, label in zip(x, y, strict=True):
            device.add(features, LABELS[int(label)])
        assert (device.ledger.events, noise.scales) == ((), [])
        transport.down = None
        assert device.sync() is Outcome.CHECKED_IN
        terms, events = device.terms, device.ledger.events
    (message,) = transport.messages
    mechanism, event = _noise(terms), events[0]
    grid = mechanism.grid(7)
    assert (message.samples, message.heldout, message.grid) == (7, 0, grid)
    assert grid < mechanism.grid(3), "otherwise this test could not tell 7 from b"
    steps = sensitivity_steps(mechanism.clip, 7, grid, 12)
    assert isinstance(event, NoiseEvent)
    assert event.releases[0].sensitivity == steps
    assert noise.scales[0][0] == 12
    assert noise.scales[0][1] == pytest.approx(steps / mechanism.levels.gradient)
    g = Softmax(4, 3).mean_gradient(np.zeros(12), x, y.astype(float), mechanism.clip)
    sent = np.frombuffer(message.gradient, dtype="<i4")
    assert (sent == quantize(g, grid)).all()
    assert message.labels == tuple(np.bincount(y, minlength=3).tolist())


def test_flush_waits_no_longer_than_asked(file: Path, transport: MemoryTransport) -> None:
    retry_timer = RetryTimer()
    with join(file, transport, retry_timer=retry_timer) as device:
        transport.down = Unreachable("no network")
        fill(device, 3)
        assert device.flush(seconds=0.1) is Outcome.WAITING
        transport.down = None
        retry_timer.clear()
        assert device.flush(seconds=5) is Outcome.CHECKED_IN


def test_jitter_hides_when_a_minibatch_became_full(file: Path, transport: MemoryTransport) -> None:
    now = [0.0]
    retry_timer = RetryTimer(jitter=100.0, clock=lambda: now[0])
    with join(file, transport, retry_timer=retry_timer) as device:
        outcomes = fill(device, 3)
        wait = retry_timer.seconds
        assert 0 <= wait <= 100
        # A draw of exactly 0 has a probability of 1e-6 and is not a fault.
        assert outcomes[-1] is (Outcome.WAITING if wait else Outcome.CHECKED_IN)
        now[0] = 101.0
        device.sync()
        assert len(transport.bodies) == 1


def _noise(terms: Terms) -> NoiseMechanism:
    mechanism = terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    return mechanism


# Held-out samples


def test_heldout_samples_are_not_in_the_gradient(file: Path) -> None:
    task = make_task(features__count=10, collection__batch=10, collection__heldout=0.3)
    transport, noise = MemoryTransport(task), SilentChance()
    with join(file, transport, chance=noise) as device:
        for i in range(10):
            device.add(one_hot(i, 10), LABELS[i % 3])
        event = device.ledger.events[0]
    (message,) = transport.messages
    used = np.frombuffer(message.gradient, dtype="<i4").reshape(3, 10).any(axis=0)
    assert used.sum() == 7
    assert (message.samples, message.heldout) == (10, 3)
    assert isinstance(event, NoiseEvent)
    assert (event.n_training, event.n_heldout) == (7, 3)
    mechanism = _noise(task.terms)
    levels = mechanism.levels
    steps = sensitivity_steps(mechanism.clip, 7, mechanism.grid(7), 30)
    assert noise.scales[0][0] == 30
    assert noise.scales[0][1] == pytest.approx(steps / levels.gradient)
    assert 0 <= message.errors <= 3
    assert event.loss.total == max(levels.gradient, levels.errors) + levels.labels


def test_heldout_samples_are_chosen_anew_each_time(file: Path) -> None:
    """All 20 choices are the same with probability 120^-19 < 1e-39."""
    task = make_task(features__count=10, collection__batch=10, collection__heldout=0.3)
    transport = MemoryTransport(task)
    with join(file, transport, chance=SilentChance(), limits=Limits(1e9, 1e9)) as device:
        for i in range(200):
            device.add(one_hot(i % 10, 10), LABELS[i % 3])
    used = {
        np.frombuffer(message.gradient, dtype="<i4").reshape(3, 10).any(axis=0).tobytes()
        for message in transport.messages
    }
    assert len(transport.messages) == 20
    assert len(used) > 1


# Limits


def test_a_reached_limit_stops_and_loses_nothing(
    file: Path, transport: MemoryTransport, caplog: pytest.LogCaptureFixture
) -> None:
    with join(file, transport, limits=Limits(per_sample=1.0, per_device=2.0)) as device:
        outcomes = fill(device, 6)
        assert outcomes[2] is outcomes[5] is Outcome.CHECKED_IN
        caplog.clear()
        outcomes = fill(device, 5)
        assert outcomes == [Outcome.COLLECTED] * 2 + [Outcome.LIMIT] * 3
        assert "the device limit is ε = 2; 2 is spent" in caplog.text
        assert (device.n_samples, len(transport.bodies)) == (5, 2)
        assert device.ledger.epsilon_spent == pytest.approx(2.0)
        checkouts = transport.checkouts
        assert device.sync() is Outcome.LIMIT
        assert transport.checkouts == checkouts, "a spent budget costs no traffic"
    with join(file, transport) as device:
        assert device.sync() is Outcome.LIMIT, "a restart does not forget"
        device.set_limits(Limits(per_sample=1.0, per_device=3.0))
        assert device.sync() is Outcome.CHECKED_IN
        assert transport.messages[-1].samples == 5
        assert device.ledger.epsilon_spent == pytest.approx(3.0)


def test_the_limit_for_one_sample(file: Path, transport: MemoryTransport) -> None:
    with join(file, transport, limits=Limits(per_sample=0.9, per_device=100.0)) as device:
        assert fill(device, 3)[-1] is Outcome.LIMIT
        assert (device.n_samples, transport.checkouts, transport.bodies) == (3, 0, [])
        device.set_limits(Limits(per_sample=1.0, per_device=100.0))
        assert device.sync() is Outcome.CHECKED_IN


# Terms


def test_changed_terms_get_no_check_in_until_agreed(
    device: Device, transport: MemoryTransport, caplog: pytest.LogCaptureFixture
) -> None:
    agreed = device.terms
    device.set_limits(Limits(1.0, 1e9))
    transport.terms = make_task(privacy__epsilon=0.5).terms.text
    assert fill(device, 4)[2:] == [Outcome.TERMS] * 2
    assert "until the participant agrees again" in caplog.text
    assert (transport.bodies, device.ledger.events, device.n_samples) == ([], (), 4)
    assert device.terms == agreed
    terms = device.agree(terms_hash(transport.terms))
    assert terms.privacy.epsilon == 0.5
    assert device.sync() is Outcome.CHECKED_IN
    assert transport.messages[0].terms == terms_hash(transport.terms)
    assert device.ledger.epsilon_per_sample == pytest.approx(0.5)


def test_what_was_shown_is_what_is_pinned(device: Device, transport: MemoryTransport) -> None:
    """Let a server show one text, and have another when the participant agrees."""
    before, honest = device.terms, make_task(privacy__epsilon=0.5).terms.text
    transport.terms = honest
    shown = device.current_terms()
    assert (shown.text, shown.sha256) == (honest, terms_hash(honest))
    assert shown.terms.privacy.epsilon == 0.5
    transport.terms = make_task(privacy__epsilon=50.0).terms.text
    with pytest.raises(TermsChanged, match="Read them again"):
        device.agree(shown.sha256)
    assert device.terms == before
    transport.terms = honest
    assert device.agree(shown.sha256).privacy.epsilon == 0.5


def test_agreeing_does_not_raise_the_limits(device: Device, transport: MemoryTransport) -> None:
    transport.terms = make_task(privacy__epsilon=5.0).terms.text
    device.agree(terms_hash(transport.terms))
    assert fill(device, 3)[-1] is Outcome.LIMIT
    assert transport.bodies == []


def test_no_privacy_cannot_be_agreed_to_in_passing(
    device: Device, transport: MemoryTransport
) -> None:
    transport.terms = make_task(privacy__epsilon=float("inf")).terms.text
    with pytest.raises(NotPrivate):
        device.agree(terms_hash(transport.terms))
    assert fill(device, 3)[-1] is Outcome.TERMS


@pytest.mark.parametrize(
    "change", [{"features__count": 5}, {"features__length": 3.0}, {"target__labels": ["a", "b"]}]
)
def test_samples_that_do_not_fit_new_terms_are_not_mixed_in(
    device: Device, transport: MemoryTransport, change: dict[str, Any]
) -> None:
    fill(device, 2)
    transport.terms = make_task(**change).terms.text
    with pytest.raises(InvalidInput, match="2 samples in the buffer do not fit the new terms"):
        device.agree(terms_hash(transport.terms))
    transport.terms = make_task(features__description="other words").terms.text
    device.agree(terms_hash(transport.terms))


def test_terms_of_another_task_cannot_be_agreed_to(
    device: Device, transport: MemoryTransport
) -> None:
    transport.terms = make_task("another").terms.text
    with pytest.raises(TermsChanged):
        device.agree(terms_hash(transport.terms))


def test_a_message_under_old_terms_is_not_sent_for_ever(
    device: Device, transport: MemoryTransport
) -> None:
    transport.before = [Unreachable("no network")]
    fill(device, 3)
    transport.terms = make_task(privacy__epsilon=0.5).terms.text
    assert device.sync() is Outcome.TERMS
    device.agree(terms_hash(transport.terms))
    fill(device, 3)
    assert [message.terms for message in transport.messages][-1] == terms_hash(transport.terms)
    assert not device.pending


# A malicious server


def test_huge_parameters_cannot_widen_the_gradient(file: Path, transport: MemoryTransport) -> None:
    """Check that with the largest float32 numbers, a sample moves the average by at most 2S/n."""
    transport.parameters = encode_parameters(np.array([3e38, -3e38] * 6))
    with join(file, transport, chance=SilentChance()) as device:
        assert fill(device, 3)[-1] is Outcome.CHECKED_IN
    (message,) = transport.messages
    sent = np.frombuffer(message.gradient, dtype="<i4").astype(float)
    assert np.ldexp(np.abs(sent).sum(), message.grid) <= 2.0 + 1e-6


# Threads


def test_samples_from_many_threads_are_used_once_each(file: Path) -> None:
    task = make_task(features__count=60, privacy__epsilon=float("inf"))
    transport = MemoryTransport(task)
    with join(file, transport, accept_no_privacy=True) as device:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda i: device.add(one_hot(i, 60), LABELS[i % 3]), range(60)))
        left = device.n_samples
    used = sum(
        np.frombuffer(message.gradient, dtype="<i4").reshape(3, 60).any(axis=0).astype(int)
        for message in transport.messages
    )
    assert np.max(used) == 1
    assert np.sum(used) + left == 60
    assert all(message.samples >= 3 for message in transport.messages)


def test_threads_do_not_spend_the_same_budget_twice(file: Path, transport: MemoryTransport) -> None:
    """Check that the budget is read again inside the transaction that spends it."""
    with join(file, transport, limits=Limits(1.0, 1.0)) as device:
        with ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(lambda _: device.add(X, "still"), range(12)))
        assert outcomes.count(Outcome.CHECKED_IN) == 1
        assert len(device.ledger.events) == 1


@pytest.mark.parametrize(
    ("limit", "outcome", "more"), [(1.0, Outcome.LIMIT, 3), (20.0, Outcome.COLLECTED, 1)]
)
def test_another_process_is_faster(
    file: Path, transport: MemoryTransport, limit: float, outcome: Outcome, more: int
) -> None:
    """Let B check in and collect more after A's check-out: A must ask again."""
    with join(file, transport, limits=Limits(1.0, limit)) as other:

        def meanwhile(step: str) -> None:
            if step == "checked out" and not transport.bodies:
                assert other.sync() is Outcome.CHECKED_IN
                assert fill(other, more)[-1] is outcome

        with join(file, transport, on_step=meanwhile) as device:
            assert fill(device, 3)[-1] is outcome
        assert [message.samples for message in transport.messages] == [3]
        assert (len(other.ledger.events), other.n_samples) == (1, more)


def test_another_process_is_faster_before_the_approval(
    file: Path, transport: MemoryTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leave nothing to approve: no sample, and no division by zero."""
    with join(file, transport) as other, join(file, transport) as device:

        def meanwhile(_why: str) -> bool:
            assert other.sync() is Outcome.CHECKED_IN
            return False

        monkeypatch.setattr(device._store, "end_if_overtaken", meanwhile)
        assert fill(device, 3)[-1] is Outcome.COLLECTED
        assert [message.samples for message in transport.messages] == [3]


def test_another_process_fills_the_buffer_first(file: Path) -> None:
    transport = MemoryTransport(make_task(collection__buffer=4))
    with join(file, transport) as one, join(file, transport) as other:
        transport.down = Unreachable("no network")
        fill(other, 3)
        assert fill(one, 3)[-1] is Outcome.FULL
        assert one.n_samples == other.n_samples == 4


def test_a_limit_that_is_lowered_after_the_approval_holds(
    file: Path, transport: MemoryTransport
) -> None:
    with join(file, transport) as other:

        def meanwhile(step: str) -> None:
            if step == "checked out":
                other.set_limits(Limits(1.0, 1e-3))

        with join(file, transport, on_step=meanwhile) as device:
            assert fill(device, 3)[-1] is Outcome.LIMIT
            assert (device.n_samples, device.ledger.events) == (3, ())
    assert not transport.bodies


def test_another_process_changes_the_limits(file: Path, transport: MemoryTransport) -> None:
    with join(file, transport) as one, join(file, transport) as other:
        other.set_limits(Limits(1.0, 1e-3))
        assert fill(one, 3)[-1] is Outcome.LIMIT
        other.leave(erase=False)
        assert one.add(X, "still") is Outcome.ENDED
    assert not transport.bodies


def test_steps_come_in_order(file: Path, transport: MemoryTransport) -> None:
    steps: list[str] = []
    with join(file, transport, on_step=steps.append) as device:
        fill(device, 3)
    assert steps == ["checked out", "sanitised", "stored", "booked", "sent", "acknowledged"]


def test_what_leaves_is_the_message_and_nothing_else(
    device: Device, transport: MemoryTransport
) -> None:
    fill(device, 3)
    assert set(msgspec.json.decode(transport.bodies[0])) == {
        "id", "version", "terms", "samples", "heldout", "errors", "labels", "grid", "gradient",
    }  # fmt: skip


def test_a_device_logs_no_secret(
    file: Path, transport: MemoryTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport.after = [Unreachable("lost"), Rejected("task-paused", 409, "paused")]
    with join(file, transport) as device:
        fill(device, 6)
        token = device.identity.token
    assert caplog.text
    assert token not in caplog.text


def test_the_model_is_tried_on_samples_before_they_are_used(file: Path) -> None:
    """Check every check-in: the exported model is tried, unless it has learnt nothing."""
    transport = MemoryTransport(make_task())
    good, bad = (encode_parameters(sign * np.eye(3, 4).ravel()) for sign in (1, -1))
    with join(file, transport) as device:
        for parameters, exported in ((transport.parameters, None), (good, None), (good, bad)):
            transport.parameters, transport.exported = parameters, exported
            for label in (0, 1, 1):
                device.add(one_hot(label, 4), ("still", "walk")[label])
    with closing(DeviceStore(file)) as store:
        assert store.results.tallies == [RightCount(0, 0), RightCount(3, 3), RightCount(0, 3)]
        assert store.results.versions == [1, 2, 3]


@pytest.mark.parametrize("mechanism", ["laplace", "direction"])
def test_how_well_it_works_for_a_participant_stays_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
    mechanism: str,
) -> None:  # fmt: skip
    """Check that nothing sent or logged depends on the counts, and that leaving erases them."""
    caplog.set_level(logging.DEBUG)
    heard = []
    for found in (RightCount(0, 987654), RightCount(987654, 987654)):
        monkeypatch.setattr(
            "crowdml.device.agreement.count_right", lambda *all_, found=found: found
        )
        transport = MemoryTransport(make_task(privacy__mechanism=mechanism))
        transport.after = [Unreachable("lost")]
        file = tmp_path / str(found.right) / "device"
        steps: list[str] = []
        with join(file, transport, steps.append, chance=SeededChance()) as device:
            outcomes = fill(device, 9)
            with closing(DeviceStore(file)) as store:
                assert set(store.results.tallies) == {found}
            device.leave(erase=False)
        heard.append((transport.bodies, transport.checkouts, steps, outcomes, caplog.text))
        with closing(DeviceStore(file)) as store:
            assert (store.results.tallies, store.results.versions) == ([], [])
            assert store.ledger.events
        caplog.clear()
    assert heard[0] == heard[1]
    assert heard[0][0]
    assert "987654" not in repr(heard)


def test_real_noise_is_new_each_time(tmp_path: Path) -> None:
    """Send equal minibatches: 12 equal draws at a scale of 2^20 have probability below 1e-60."""
    gradients = []
    for name in ("one", "two"):
        transport = MemoryTransport(make_task())
        with join(tmp_path / name, transport) as device:
            fill(device, 3)
        gradients.append(transport.messages[0].gradient)
    assert gradients[0] != gradients[1]


def test_ids_are_new_for_each_check_in(device: Device, transport: MemoryTransport) -> None:
    fill(device, 12)
    assert len({message.id for message in transport.messages}) == 4


# A task for whole people

WHOLE: dict[str, Any] = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0}


def test_one_check_in_for_the_whole_person(file: Path) -> None:
    task = make_task(**WHOLE)
    transport = MemoryTransport(task)
    with join(file, transport) as device:
        assert fill(device, 3) == [Outcome.COLLECTED] * 2 + [Outcome.CHECKED_IN]
        assert device.ledger.epsilon_per_person == device.ledger.epsilon_per_sample == 4.0
        (event,) = device.ledger.events
        assert "all check-ins that you agreed to are made" in (device.ended or "")
        assert fill(device, 5) == [Outcome.ENDED] * 5
    (message,) = transport.directed
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    key = CheckinKey(message.terms, device.identity.device, 1)
    mechanism.check(message, key)
    role = mechanism.roles.role_of(key)
    assert event == DirectionEvent(1, role, 4.0)
    assert set(json.loads(transport.bodies[0])) == {
        "id", "version", "terms", "number", FIELDS[role]
    }, "nothing else about the samples leaves, not even how many they were"  # fmt: skip


def test_an_event_is_made_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the same object that the ledger approved is spent and booked."""
    made: list[DirectionEvent] = []
    drawn: list[Role] = []
    spent: list[object] = []
    make, draw, write = DirectionMechanism.event, Roles.role_of, DirectionMechanism.make_payload

    def event(self: DirectionMechanism, n_samples: int, key: CheckinKey) -> DirectionEvent:
        found = make(self, n_samples, key)
        if key.device:  # Terms ask what a check-in of nobody would cost.
            made.append(found)
        return found

    def draw_role(self: Roles, key: CheckinKey) -> Role:
        found = draw(self, key)
        if key.device:
            drawn.append(found)
        return found

    def spend(self: DirectionMechanism, minibatch: Any, event: Any, *more: Any) -> DirectionPayload:
        spent.append(event)
        return write(self, minibatch, event, *more)

    transport = MemoryTransport(make_task(**WHOLE, collection__checkins=6))
    with join(file, transport) as device:
        for name, watched in (("event", event), ("make_payload", spend)):
            monkeypatch.setattr(DirectionMechanism, name, watched)
        monkeypatch.setattr(Roles, "role_of", draw_role)
        for number in range(1, 7):
            fill(device, 3)
            assert (len(made), len(spent)) == (number, number)
            assert spent[-1] is made[-1]
        assert device.ledger.events == tuple(made)
    roles = [event.role for event in made]
    assert drawn[::2] == drawn[1::2] == roles, "one for the check-out, one for the event"
    assert [role_of(message) for message in transport.directed] == roles


def test_a_number_is_of_the_approval_even_where_another_process_was_faster(file: Path) -> None:
    """Check that an overtaken approval is dropped, and the remaining samples get a new one."""
    transport = MemoryTransport(make_task(**WHOLE, collection__checkins=4))
    with join(file, transport) as other:

        def meanwhile(step: str) -> None:
            if step == "checked out" and not transport.bodies:
                assert other.sync() is Outcome.CHECKED_IN
                for _ in range(3):
                    other._store.add(np.zeros(4), 0.0, most=99)

        with join(file, transport, on_step=meanwhile) as device:
            assert fill(device, 3)[-1] is Outcome.CHECKED_IN
            assert [message.number for message in transport.directed] == [1, 2]
            assert [event.number for event in device.ledger.events] == [1, 2]  # type: ignore[attr-defined]
            assert device.n_samples == 0


def test_check_ins_are_numbered_and_add_up_to_what_was_agreed(file: Path) -> None:
    transport = MemoryTransport(make_task(**WHOLE, collection__checkins=4))
    with join(file, transport) as device:
        fill(device, 9)
        assert device.ended is None
        assert device.ledger.epsilon_per_person == pytest.approx(3.0)
        fill(device, 3)
        assert device.ledger.epsilon_per_person == pytest.approx(4.0)
        assert device.ended
    assert [message.number for message in transport.directed] == [1, 2, 3, 4]


def test_a_limit_below_the_agreement_holds(file: Path) -> None:
    transport = MemoryTransport(make_task(**WHOLE, collection__checkins=4))
    with join(file, transport, limits=Limits(1.0, 2.0)) as device:
        fill(device, 12)
        assert len(transport.bodies) == 2
        assert device.ledger.epsilon_per_person == pytest.approx(2.0)


def test_features_are_rescaled_in_the_mechanisms_norm(file: Path) -> None:
    for mechanism, length in (("direction", 2), ("gaussian", 2), ("laplace", 1)):
        transport = MemoryTransport(make_task(privacy__mechanism=mechanism))
        with join(file.with_name(mechanism), transport) as device:
            device.add([3.0, 4.0, 0.0, 0.0], "still")
            (x,) = device._store._db.execute("SELECT x FROM buffer").fetchone()
        assert np.linalg.norm(np.frombuffer(x), length) == pytest.approx(1.0)


@pytest.mark.parametrize(("buffer", "slots"), [(30, 1), (5000, 4)])
@pytest.mark.parametrize("took", [0.001, 0.03, 0.049])
def test_when_it_is_sent_does_not_tell_how_long_it_took(
    file: Path, took: float, buffer: int, slots: int
) -> None:
    """Check that the time also hides how many samples the device had."""
    transport = MemoryTransport(make_task(collection__buffer=buffer))
    now, steps = [0.0], dict[str, float]()

    def step(name: str) -> None:
        now[0] += took if name == "sanitised" else 0.0
        steps[name] = now[0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    retry_timer = RetryTimer(clock=lambda: now[0], sleep=sleep)
    with join(file, transport, on_step=step, retry_timer=retry_timer) as device:
        fill(device, 3)
    assert steps["stored"] - steps["checked out"] == pytest.approx(took)
    assert steps["sent"] - steps["checked out"] == pytest.approx(slots * 0.05)


# Predicting


def model_of(transport: MemoryTransport, weights: Array) -> LearntModel:
    terms = transport.task_view.terms
    about = ModelDescription.of(terms, terms_hash(terms.text), 7)
    return make_estimator(about, weights, np.zeros(len(weights)))


def test_the_model_for_the_participants_own_use(
    device: Device, transport: MemoryTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that it is fetched once, renewed hourly, kept offline, and that nothing is sent."""
    with pytest.raises(Rejected, match="nothing is learnt"):
        device.predict(X)
    transport.model = model_of(transport, np.eye(3, 4))
    assert [device.predict(one_hot(k, 4)) for k in range(3)] == ["still", "walk", "run"]
    transport.model = model_of(transport, -np.eye(3, 4))
    assert device.predict(one_hot(2, 4)) == "run"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3601)
    transport.down = Unreachable("away")
    assert device.predict(one_hot(2, 4)) == "run"
    transport.down = None
    monkeypatch.setattr(time, "monotonic", lambda: now + 7203)
    assert device.predict(one_hot(0, 4)) == "walk"
    with pytest.raises(InvalidSample, match="x must be 4 numbers, found 1"):
        device.predict([0.5])
    assert (transport.bodies, transport.checkouts, len(device.ledger.events)) == ([], 0, 0)


def test_a_number_for_the_participants_own_use(file: Path) -> None:
    transport = MemoryTransport(
        make_task(model__kind="ridge", model__clip=1.0, target__labels=None)
    )
    transport.model = model_of(transport, np.array([[2.0, 0.0, 0.0, 0.0]]))
    with join(file, transport) as device:
        assert device.predict([3.0, 1.0, 0.0, 0.0]) == 1.5, "rescaled as a sample would be"


def test_a_model_that_is_not_the_agreed_one(device: Device, transport: MemoryTransport) -> None:
    good = model_of(transport, np.eye(3, 4))
    transport.model = make_estimator(
        msgspec.structs.replace(good.about, terms_sha256="0" * 64), good.weights, good.intercepts
    )
    with pytest.raises(TermsChanged):
        device.predict(X)
    transport.export = lambda: b"nonsense"  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="the server's answer"):
        device.predict(X)
    few = make_estimator(
        msgspec.structs.replace(good.about, names=("x",)), np.eye(3, 1), np.zeros(3)
    )
    transport.export = lambda: write_model(few, "json")  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="must be of 4 features"):
        device.predict(X)


ROOM: dict[str, Any] = {
    "features__count": 2, "features__names": ["light", "warmth"],
    "features__center": [300.0, 21.0], "features__scale": [250.0, 3.0], "features__length": 2.0,
}  # fmt: skip


def test_readings_by_name_in_their_own_units(file: Path) -> None:
    transport = MemoryTransport(make_task(**ROOM))
    weights = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    transport.model = model_of(transport, weights)
    with join(file, transport) as device:
        kept: list[list[float]] = []
        for reading in ({"warmth": 24.0, "light": 175.0}, [175.0, 24.0], np.array([175.0, 24.0])):
            kept.append(device._membership.agreement.features(reading).tolist())
            device.add(reading, "walk")
        assert kept == [[-0.25, 0.5]] * 3
        assert len(transport.bodies) == 1, "a minibatch of all three ways"
        assert device.predict({"warmth": 24.0, "light": 175.0}) == "run"
        assert device.predict([175.0, 21.0]) == "walk", "scaled once, and not twice"


def test_version_0_must_be_the_start(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Check that nothing is computed on other parameters; samples wait for the right server."""
    task = make_task(start=make_start())
    transport = MemoryTransport(task)
    assert task.start is not None
    with join(file, transport) as device:
        transport.parameters = task.start.data[:-4] + bytes(4)
        assert fill(device, 3)[-1] is Outcome.WAITING
        assert "version 0 must be the start that the terms name" in caplog.text
        assert (transport.bodies, len(device.ledger.events)) == ([], 0)
        transport.parameters = task.start.data
        assert device.sync() is Outcome.CHECKED_IN
