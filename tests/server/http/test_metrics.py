"""Test what Prometheus reads, from any node."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from starlette.types import Scope

from crowdml.server import Store
from crowdml.server.database.nodes import MetricValue, NodeRow
from crowdml.server.http.metrics import FAMILIES, metrics
from crowdml.server.http.metrics_access import may_read_metrics
from tests.server.metrics_of_nodes import Series, nodes, scrape, total
from tests.support.servers import (
    HttpClient,
    Start,
    checkin,
    enrol,
    enrolled,
    eventually,
    make_task,
    problem_kind,
)

CHECKINS = "/v1/tasks/activity/checkins"
TASK = make_task()


@pytest.fixture
def pair(database: str, tmp_path: Path) -> Iterator[list[HttpClient]]:
    """Open a connection to each of two nodes."""
    with (
        nodes(tmp_path, database) as (first, second),
        first.connected() as one,
        second.connected() as other,
    ):
        yield [one, other]


def send(wire: HttpClient, token: str, seeds: range) -> None:
    for seed in seeds:
        assert wire.call("POST", CHECKINS, checkin(TASK, seed), token).status == 200


def wait_for(wire: HttpClient, done: Callable[[Series], bool]) -> Series:
    """Scrape until `done` holds.

    Each node writes its counts a moment later, and reads the counts of others when it looks.
    """
    assert eventually(lambda: done(scrape(wire)))
    return scrape(wire)


def test_every_node_shows_all(pair: list[HttpClient]) -> None:
    one, other = pair
    token = enrol(one)
    send(one, token, range(3))
    send(other, token, range(3, 5))
    assert other.call("POST", CHECKINS, b"{}", token).status == 400
    rejected = {"name": "crowdml_rejections_total", "kind": "invalid-request"}
    for wire in pair:
        found = wait_for(
            wire,
            lambda now: (
                sum(total(now, "crowdml_task_version").values()) == 10
                and sum(total(now, "crowdml_task_devices").values()) == 2
                and 1 in total(now, **rejected).values()
            ),
        )
        by_node = total(found, "crowdml_checkins_total", task="activity")
        assert sorted(by_node.values()) == [2, 3]
        busy, quiet = sorted(by_node, key=lambda name: -by_node[name])
        assert total(found, **rejected) == {busy: 0, quiet: 1}
        # Each check-in was computed on version 0, so the i-th was i versions late.
        assert total(found, "crowdml_checkin_staleness_sum") == {busy: 3, quiet: 7}
        assert total(found, "crowdml_checkin_staleness_bucket", le="1") == {busy: 2, quiet: 0}
        assert total(found, "crowdml_commit_checkins_sum") == by_node
        assert total(found, "crowdml_commit_seconds_count") == by_node
        assert all(0 < value < 60 for value in total(found, "crowdml_commit_seconds_sum").values())
        assert total(found, "crowdml_task_version") == {busy: 5, quiet: 5}
        assert total(found, "crowdml_task_devices") == {busy: 1, quiet: 1}
        assert total(found, "crowdml_task_state", "state") == {
            "running": 2, "paused": 0, "reached": 0, "exhausted": 0, "stopped": 0
        }  # fmt: skip
        assert total(found, "crowdml_fold_lag_checkins") == {busy: 0, quiet: 0}
        assert total(found, "crowdml_nodes") == {"": 2}


def test_the_text_is_as_prometheus_wants_it(start: Start) -> None:
    with start(TASK, heartbeat_seconds=0.05).connected() as wire:
        send(wire, enrol(wire), range(12))
        found = wait_for(wire, lambda now: 12 in total(now, "crowdml_checkins_total").values())
        for family in (name for name, (kind, _) in FAMILIES.items() if kind == "histogram"):
            for node, count in total(found, f"{family}_count").items():
                steps = total(found, f"{family}_bucket", "le", node=node)
                values = [steps[bound] for bound in sorted(steps, key=float)]
                assert values == sorted(values)
                assert values[-1] == steps["+Inf"] == count
        reply = wire.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = reply.body.decode()
    assert text.endswith("\n")
    for what in ("HELP", "TYPE"):
        named = Counter(re.findall(rf"^# {what} (\S+) ", text, re.MULTILINE))
        assert named == dict.fromkeys(FAMILIES, 1)
    for family, (kind, _) in FAMILIES.items():
        assert (kind == "counter") == family.endswith("_total")
        assert re.search(rf"^{family}(_bucket)?[ {{]", text, re.MULTILINE), "nothing shows it"
    # Samples of a family follow its description, without gaps.
    for block in text.split("# HELP ")[1:]:
        family = block.split()[0]
        assert all(line.startswith(family) for line in block.splitlines()[2:])


def test_counters_never_go_back(pair: list[HttpClient], database: str) -> None:
    """Check counters for any distribution of scrapes and check-ins.

    A counter that decreases looks like a restart.
    """
    token, last, ended = enrol(pair[0]), Series(), threading.Event()

    def keep_sending(port: int) -> None:
        with closing(HttpClient(port)) as wire:
            while not ended.is_set():
                wire.call("POST", CHECKINS, checkin(TASK), token)

    threads = [threading.Thread(target=keep_sending, args=[wire._port]) for wire in pair]
    for thread in threads:
        thread.start()
    try:
        for i in range(40):
            now = scrape(pair[i % 2])
            for key, value in now.items():
                if re.search("_(total|count|sum|bucket)$", key[0]):
                    assert value >= last.get(key, 0), key
            last = now
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert sum(total(last, "crowdml_checkins_total").values()) > 10


def test_a_node_that_died_is_seen_for_a_minute(database: str, tmp_path: Path) -> None:
    with nodes(tmp_path, database) as (first, second), first.connected() as wire:
        token = enrol(wire)
        with second.connected() as other:
            send(other, token, range(4))
            found = wait_for(other, lambda now: 4 in total(now, "crowdml_checkins_total").values())
        by_node = total(found, "crowdml_checkins_total")
        (dead,) = (node for node, count in by_node.items() if count == 4)
        second.kill()

        age(database, dead, 20)
        found = scrape(wire)
        assert total(found, "crowdml_nodes") == {"": 1}
        assert total(found, "crowdml_checkins_total")[dead] == 4, "its last counts are not lost"

        age(database, dead, 50)
        assert eventually(lambda: dead not in total(scrape(wire), "crowdml_checkins_total"))
        second.start()
        assert eventually(lambda: total(scrape(wire), "crowdml_nodes") == {"": 2})
        again = total(scrape(wire), "crowdml_checkins_total")
        assert dead not in again, "one that starts anew has a name of its own"
        assert set(again.values()) == {0}


def age(database: str, node: str, seconds: int) -> None:
    """Make the node look as if it was last seen `seconds` earlier."""
    with closing(Store(database)) as store, store._database.writing() as connection:
        change = sa.text("UPDATE nodes SET seen = seen - :seconds WHERE name = :node")
        assert connection.execute(change, {"seconds": seconds, "node": node}).rowcount == 1


def test_the_last_counts_are_there_after_a_stop(start: Start) -> None:
    server = start(TASK, heartbeat_seconds=600.0)
    with server.connected() as wire:
        send(wire, enrol(wire), range(3))
    assert server.stop() == 0
    with server.start().connected() as wire:
        found = scrape(wire)
    assert sorted(total(found, "crowdml_checkins_total").values()) == [0, 3]


def test_lag_is_what_a_node_has_not_applied(tmp_path: Path) -> None:
    """Check the lag of a node that learns of nothing: both nodes poll only once in ten minutes."""
    database = f"sqlite:///{tmp_path / 'shared.db'}"
    with nodes(tmp_path, database, poll_seconds=600.0) as (busy, _), busy.connected() as wire:
        send(wire, enrol(wire), range(4))
        lags = "crowdml_fold_lag_checkins"
        found = wait_for(
            wire,
            lambda now: (
                4 in total(now, lags).values() and 4 in total(now, "crowdml_task_version").values()
            ),
        )
        versions = total(found, "crowdml_task_version")
        assert sorted(versions.values()) == [0, 4]
        assert {node: 4 - version for node, version in versions.items()} == total(found, lags)


def test_nobody_is_named(start: Start) -> None:
    server = start(TASK, heartbeat_seconds=0.05)
    with server.connected() as wire:
        joined = enrolled(wire)
        body = checkin(TASK)
        wire.call("POST", CHECKINS, body, joined["token"])
        wait_for(wire, lambda now: 1 in total(now, "crowdml_checkins_total").values())
        text = wire.get("/metrics").body
    for secret in (joined["device"], joined["token"], "127.0.0.1"):
        assert secret.encode() not in text


def test_what_a_later_version_counts_is_left_out() -> None:
    later = NodeRow("a-1", 0, 0, 0, [MetricValue("crowdml_new_total", "", {}, 1)])
    assert "crowdml_new_total" not in metrics([later])


# Who may read the metrics


def test_this_machine_may_look_but_not_visitors_behind_its_proxy(start: Start) -> None:
    with start(TASK).connected() as wire:
        scrape(wire)
        unknown = wire.get("/metricz").json()["detail"].replace("metricz", "metrics")
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "x-forwarded-proto"):
            reply = wire.call("GET", "/metrics", headers={name: "for=192.0.2.1"})
            assert (reply.status, problem_kind(reply)) == (404, "not-found")
            assert reply.json()["detail"] == unknown, "it looks as if there were no such page"
            assert wire.call("GET", "/readyz", headers={name: "for=192.0.2.1"}).status == 200


def test_with_a_token_it_is_needed_everywhere(start: Start) -> None:
    """Check that local requests need the token too.

    A proxy that adds no header cannot be distinguished from this machine.
    """
    with start(TASK, metrics_token="open-sesame-ä").connected() as wire:
        right = "Bearer open-sesame-ä".encode().decode("latin-1")
        scrape(wire, Authorization=right)
        scrape(wire, Authorization=right, Forwarded="for=192.0.2.1")
        for wrong in ("Bearer open-sesame", "Bearer", "Basic open-sesame-ä", ""):
            reply = wire.call("GET", "/metrics", headers={"Authorization": wrong})
            assert reply.status == 404
        assert wire.get("/metrics").status == 404


@pytest.mark.parametrize(
    ("client", "allowed"),
    [
        (("127.0.0.1", 5), True),
        (("::1", 5), True),
        (("192.0.2.1", 5), False),
        (("2001:db8::1", 5), False),
        (("", 0), False),
        (None, False),
    ],
)
def test_other_machines_may_not_look(client: tuple[str, int] | None, allowed: bool) -> None:
    scope: Scope = {"type": "http", "client": client, "headers": []}
    assert may_read_metrics(scope, None) is allowed
    assert not may_read_metrics(scope, "token")
    scope["headers"] = [(b"authorization", b"Bearer token")]
    assert may_read_metrics(scope, "token")
