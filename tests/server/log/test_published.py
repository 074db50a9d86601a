"""Test that a check-out is one version (number, state and w) during concurrent writes."""

import sys
import threading
from collections.abc import Iterator
from itertools import count

import msgspec
import pytest

from crowdml.protocol import Checkout, encode_parameters, terms_hash
from crowdml.server import Store
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.database.owner_settings import OwnerSettings
from crowdml.server.log.fold import Fold
from tests.server.learners import arrivals, changed, new_learner
from tests.support.servers import FaultyServer, Start, checkin, enrol, make_task

READERS = 2
CHECKOUTS = 10_000
"""The smallest number of check-outs by each reader."""

VERSIONS = 100
"""The smallest number of versions written meanwhile."""

Seen = set[tuple[str, bytes]]
"""Pairs of an ETag and the body that came with it."""


@pytest.fixture
def haste() -> Iterator[None]:
    """Make threads interrupt each other after every few instructions."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def wrong_pairs(seen: Seen, fold: Fold, log: list[LogEntry]) -> list[str]:
    """Return the ETags that came with another version's number, state or parameters."""
    parameters = {0: encode_parameters(fold.w)}
    for entry in log:
        fold.apply(entry)
        parameters[fold.version] = encode_parameters(fold.w)
    wrong = []
    for etag, body in seen:
        found = msgspec.json.decode(body, type=Checkout)
        same = etag == f'"{found.version}-{found.state}"'
        if not same or found.parameters != parameters[found.version]:
            wrong.append(etag)
    return wrong


@pytest.mark.usefixtures("haste")
def test_no_check_out_is_of_two_versions(store: Store) -> None:
    task = make_task(features__count=1000)
    learner = new_learner(store, task)
    (first,) = arrivals(task, 1)
    readers_done = threading.Event()

    def write() -> None:
        """Ingest check-ins, while an owner pauses and resumes the task."""
        while not readers_done.is_set():
            new_id = f"checkin-{learner.version:08}"
            learner.ingest([changed(first, id=new_id)])
            for state in ("paused", "running"):
                learner.refresh(OwnerSettings(state))

    def read(seen: Seen) -> None:
        for n in count():
            now = learner.published
            seen.add((now.etag(), now.body()))
            if n >= CHECKOUTS and learner.version >= VERSIONS:
                return

    seen: list[Seen] = [set() for _ in range(READERS)]
    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read, args=(each,)) for each in seen]
    for thread in (writer, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    readers_done.set()
    writer.join()
    log = list(store.log(learner.id))
    assert wrong_pairs(set().union(*seen), Fold(task, terms_hash(task.terms.text)), log) == []


def look(server: FaultyServer, token: str, seen: Seen, stop: threading.Event) -> None:
    with server.connected() as wire:
        while not stop.is_set():
            reply = wire.get("/v1/tasks/activity/model", token)
            seen.add((reply.headers["etag"], reply.body))


def test_no_answer_is_of_two_versions(start: Start) -> None:
    task = make_task()
    server = start(task)
    stop = threading.Event()
    seen: list[Seen] = [set() for _ in range(READERS)]
    with server.connected() as wire:
        token = enrol(wire)
        arguments = [(server, token, each, stop) for each in seen]
        readers = [threading.Thread(target=look, args=each) for each in arguments]
        for reader in readers:
            reader.start()
        try:
            for seed in range(300):
                body = checkin(task, seed)
                assert wire.call("POST", "/v1/tasks/activity/checkins", body, token).status == 200
        finally:
            stop.set()
            for reader in readers:
                reader.join()
    with server.store() as store:
        log = list(store.log(1))
    assert len(set().union(*seen)) > 50, "too few versions to mean anything"
    assert wrong_pairs(set().union(*seen), Fold(task, terms_hash(task.terms.text)), log) == []
