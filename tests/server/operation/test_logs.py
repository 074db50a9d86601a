"""Test what the operator reads: few lines, and nothing about any person."""

import json
import logging
from datetime import UTC, datetime

import pytest

from crowdml.server import Store
from crowdml.server.operation.logs import JsonFormatter, TextFormatter
from crowdml.server.service.heartbeat import Heartbeat
from tests.server.metrics_of_nodes import BEAT
from tests.support.servers import FaultyServer, Start, checkin, enrolled, eventually, make_task

CHECKINS = "/v1/tasks/activity/checkins"


def lines(server: FaultyServer) -> list[dict[str, str]]:
    return [json.loads(line) for line in server.output.splitlines()]


def test_one_object_a_line(start: Start) -> None:
    task = make_task()
    server = start(task, heartbeat_seconds=BEAT, log_format="json")
    with server.connected() as wire:
        joined = enrolled(wire)
        with server.store() as store:
            store.set_task_state("activity", "paused")
            assert eventually(lambda: wire.get("/v1/tasks/activity").json()["state"] == "paused")
            store.set_task_state("activity", "running")
            assert eventually(lambda: wire.get("/v1/tasks/activity").json()["state"] == "running")
        server.fail_writes.touch()
        assert eventually(lambda: wire.get("/readyz").status == 503)
        bodies = [checkin(task, seed) for seed in range(20)]
        for body in bodies:
            assert wire.call("POST", CHECKINS, body, joined["token"]).status == 503
        server.fail_writes.unlink()
        assert eventually(lambda: wire.get("/readyz").status == 200)
        assert wire.call("POST", CHECKINS, bodies[0], joined["token"]).status == 200
    assert server.stop() == 0
    logged = lines(server)
    for line in logged:
        assert {"time", "level", "logger", "message"} <= line.keys()
        assert line.keys() <= {"time", "level", "logger", "message", "task", "exception"}
        age = datetime.now(UTC) - datetime.fromisoformat(line["time"])
        assert 0 <= age.total_seconds() < 600
    messages = [line["message"] for line in logged]
    of_the_task = [line["message"] for line in logged if line.get("task") == "activity"]
    assert messages[0].endswith(" started")
    assert messages[1] == f"listening on {server.url}"
    assert of_the_task[:2] == ["the task is paused", "the task is running"]
    assert "a commit failed, so the fold was rebuilt" in of_the_task
    assert "the database can be written again" in messages
    assert messages[-1].endswith(" stopped")
    failures = [message for message in messages if message.endswith("the disk is full")]
    assert len(failures) == 1, "twenty failed writes are one failure"

    output = server.output.replace(server.url, "")
    for secret in (joined["token"], joined["device"], "127.0.0.1", json.loads(bodies[0])["id"]):
        assert secret not in output


def test_rejections_are_summed_up_each_minute(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "crowdml")
    now = [0.0]
    heartbeat = Heartbeat(every=5, clock=lambda: now[0])
    for seconds in range(0, 200, 5):
        now[0] = seconds
        if seconds < 60:
            heartbeat.counts.rejections["implausible"] += 2
            heartbeat.counts.rejections["too-frequent"] += 1
        heartbeat.beat(store, [])
    assert caplog.messages == ["rejected within a minute: implausible 24, too-frequent 12"]


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_an_exception_loses_its_words(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("token-of-ana")
    except ValueError as error:
        trace = (type(error), error, error.__traceback__)
    record = logging.LogRecord(
        "asyncio", logging.ERROR, "", 1, "it failed\nfuture: %s", ("token-of-ana",), trace
    )
    record.task = "walks"
    line = formatter.format(record)
    assert "token-of-ana" not in line
    for part in ("it failed", "ERROR", "walks", "test_logs.py", "ValueError"):
        assert part in line
