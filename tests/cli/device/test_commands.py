"""Test `crowdml device` from joining to leaving, with real servers."""

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from crowdml.device import DeviceStore
from crowdml.protocol import terms_hash
from tests.cli.command import Command, Here, Ran
from tests.device.scripted_server import ScriptedServer, serving
from tests.support.brokers import broker_in
from tests.support.servers import (
    PATIENCE,
    FaultyServer,
    create,
    eventually,
    make_direction_task,
    make_task,
)

ROW = "0.1,0.2,-0.3,0.1,walk\n"
SENSOR: dict[str, Any] = {
    "features__sensor.kind": "light",
    "features__sensor.rate": 1,
    "features__sensor.window": 2,
    "features__sensor.every": 0,
    "features__sensor.transform": "summary",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("server"))
    create(
        process.database,
        make_task("activity"),
        make_task("brackets", __title="Steps [per hour] [/or] more", __sensors="Pace [step/s]"),
        make_task("guests", enrolment__mode="invite"),
        make_task("naked", privacy__epsilon=float("inf")),
        make_task("nearly", privacy__epsilon=20.5),
        make_direction_task("nobody-s", privacy__epsilon=40.0, collection__checkins=4),
        make_task("number", target__labels=None, model__kind="huber"),
        make_task("resting"),
        make_task("room", features__count=2, features__names=["light", "warmth"]),
        make_task("sensed", **SENSOR),
        make_task("wide", features__count=7, **{"features__sensor.kind": "motion"}),
    )
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("secure"), tls="self-signed")
    create(process.database, make_task())
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture
def owner(server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    """Return the command in the folder of the server's database."""
    return Here(tmp_path, {"CROWDML_DATABASE": server.database}, capsys)


# Joining


def test_a_link_is_enough(crowdml: Command, owner: Here, server: FaultyServer) -> None:
    joined = crowdml("device", "join", f"{server.url}/join/activity", "--yes")
    name = joined.said().removeprefix("joined activity as device ").strip()
    for expected in (
        "Activity\nto learn",
        "Who asks:          Jane Doe. Reach them at jane@example.org",
        "What for:          a free app",
        "What is read:      motion",
        "What is computed:  4 numbers. energies",
        "What is predicted: still, walk, run",
        "What leaves:       Your readings never leave your device. When it has 3 samples",
        "It stops after 20 check-ins.",
        "What you lose:     Very weak privacy. ε = 20 for one sample in each of 20 check-ins",
        "ε = 1 for a sample and 20 for all check-ins",
        "How to stop:       Run `crowdml device leave` at any time",
        "terms ",
    ):
        assert expected in joined.err
    file = crowdml.data / "activity.device"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    states = owner("task", "show", "activity", "--json").json()["device_states"]
    assert states[name] == "active"
    again = crowdml("device", "join", f"{server.url}/v1/tasks/activity/", "--yes")
    assert again.said() == f"already {joined.out}"


def test_asked_and_answered(quick: Here, server: FaultyServer) -> None:
    arguments = ("device", "join", server.url, "--task", "activity", "--file", "here")
    for typed in ("n\n", ""):
        declined = quick(*arguments, typed=typed)
        assert (declined.code, declined.out.strip()) == (1, "")
        assert "Agree and join?" in declined.err
        assert not (quick.folder / "here").exists()
    agreed = quick(*arguments, typed="y\n")
    assert agreed.said().strip().startswith("joined activity as device ")
    assert (quick.folder / "here").exists()


def test_a_pinned_certificate(quick: Here, secure: FaultyServer) -> None:
    link = f"{secure.url}/join/activity"
    wrong = quick("device", "join", link, "--yes", "--fingerprint", "0" * 64).error()
    assert f"fingerprint {'0' * 64}, found {secure.fingerprint}" in wrong
    assert "not trusted" in quick("device", "join", link, "--yes").error()
    assert not quick.data.exists()
    pairs = ":".join(secure.fingerprint[i : i + 2].upper() for i in range(0, 64, 2))
    quick("device", "join", link, "--yes", "--fingerprint", pairs).said()
    ran = quick("device", "run", "--source", "-", typed=3 * ROW).said()
    assert ran == "3 samples kept, 1 check-in answered, 0 samples in the buffer\n"


def test_a_task_that_is_not_there(quick: Here, server: FaultyServer) -> None:
    assert "nobody" in quick("device", "join", f"{server.url}/join/nobody", "--yes").error()
    assert not quick.data.exists()


@pytest.mark.parametrize(
    "name",
    ["../../evil", "..", "/etc/evil", "a/../../evil", "%2e%2e%2fevil", "C:evil", "c:\\evil", "con",
     "nul", "com1", "a.b", "a\x00b", "a\nb", "a" * 64, "A", "\u202eevil", "-a"],
    ids=ascii,
)  # fmt: skip
def test_a_name_that_leaves_the_folder(quick: Here, server: FaultyServer, name: str) -> None:
    for link in ([f"{server.url}/join/{name}"], [server.url, "--task", name]):
        rejected = quick("device", "join", *link, "--yes").error()
        hidden = not link[0].isprintable()
        must = "a link must" if hidden else "a task's name must be 1 to 63 lower-case letters"
        assert rejected.startswith(must)
        assert rejected.isprintable()
    assert list(quick.folder.iterdir()) == []


def test_joining_again_with_other_limits(joined: Here, server: FaultyServer) -> None:
    arguments = ("device", "join", f"{server.url}/join/activity", "--yes")
    again = joined(*arguments, "--per-device", 3)
    assert again.out.splitlines()[1] == "limits: ε = 1 for a sample, 3 for the device"
    assert "What you allow:    ε = 1 for a sample and 3 for all check-ins" in again.err
    assert "It stops after 3 check-ins." in again.err
    assert (
        joined(*arguments, "--per-sample", 0.5)
        .said()
        .endswith("limits: ε = 0.5 for a sample, 3 for the device\n")
    )
    assert joined(*arguments).said().count("\n") == 1, "what is not said is as it was"
    said = joined("device", "limits").said()
    assert said == "limits: ε = 0.5 for a sample, 3 for the device\n"


def test_joining_again_on_other_terms(quick: Here) -> None:
    script = ScriptedServer()
    with serving(script) as url:
        arguments = ("device", "join", f"{url}/join/activity", "--yes")
        quick(*arguments).said()
        script.memory.terms = make_task(privacy__epsilon=0.5).terms.text
        rejected = quick(*arguments)
    assert (rejected.code, rejected.out) == (1, "")
    assert "Run `crowdml device agree`" in rejected.err.splitlines()[-1]


def test_a_reading_in_several_samples_is_named(quick: Here, server: FaultyServer) -> None:
    """Check it with windows of two readings, where one reading may count for five ticks."""
    shown = quick("device", "join", f"{server.url}/join/sensed", "--yes").err
    named = "One reading of your sensor is in up to 6 samples: for a reading, ε is at most 6."
    assert named in " ".join(shown.split())
    assert "Nothing was sent yet." in quick("device", "ledger").said()


def test_a_fingerprint_needs_tls(quick: Here, server: FaultyServer) -> None:
    link = f"{server.url}/join/activity"
    sentence = quick("device", "join", link, "--yes", "--fingerprint", "0" * 64).error()
    assert "a fingerprint needs an https:// address" in sentence


def test_no_privacy_must_be_accepted_by_name(quick: Here, server: FaultyServer) -> None:
    arguments = ("device", "join", f"{server.url}/join/naked", "--yes")
    rejected = quick(*arguments)
    assert (rejected.code, rejected.out) == (1, "")
    assert "What you lose:     Not private. ε = ∞: nothing is protected." in rejected.err
    assert "THIS TASK IS NOT PRIVATE. It sends numbers from which your samples" in rejected.err
    assert "Your device sends numbers from which your samples can be worked out." in rejected.err
    assert "oise is added" not in rejected.err
    assert "never leave" not in rejected.err
    last = rejected.err.splitlines()[-1]
    assert last.startswith("crowdml: the task naked is NOT PRIVATE")
    assert "--accept-no-privacy" in last
    assert not list(quick.data.iterdir())
    quick(*arguments, "--accept-no-privacy").said()
    quick("device", "run", "--source", "-", typed=3 * ROW).said()
    document = quick("device", "ledger", "--json").json()
    assert document["epsilon"] == {"per_sample": "inf", "per_person": "inf", "spent": "inf"}
    assert document["limits"] == {"per_sample": "inf", "per_device": "inf"}


@pytest.mark.parametrize(
    ("task", "epsilon"), [("nearly", "20.5 for a sample"), ("nobody-s", "40 for a person")]
)
def test_an_epsilon_that_protects_nobody_is_no_privacy(
    quick: Here, server: FaultyServer, task: str, epsilon: str
) -> None:
    arguments = ("device", "join", f"{server.url}/join/{task}", "--yes")
    rejected = quick(*arguments)
    assert rejected.code == 1
    assert f"THIS TASK IS NOT PRIVATE. It has ε = {epsilon}" in rejected.err
    for claim in ("no noise", "never certain", "factor of at most"):
        assert claim not in rejected.err
    assert "--accept-no-privacy" in rejected.err.splitlines()[-1]
    quick(*arguments, "--accept-no-privacy").said()
    with server.connected() as wire:
        assert wire.get(f"/v1/tasks/{task}").json()["private"] is False


def test_only_for_the_invited(quick: Here, owner: Here, server: FaultyServer) -> None:
    link, code = f"{server.url}/join/guests", owner("task", "invite", "guests").said().strip()
    for wrong in ([], ["--invite", "nonsense"]):
        rejected = quick("device", "join", link, "--yes", *wrong)
        assert rejected.code == 1
        assert rejected.err.splitlines()[-1].startswith("crowdml: ")
        assert "invite" in rejected.err.splitlines()[-1]
        assert not list(quick.data.iterdir()), "a rejected device leaves nothing behind"
    invited = ("device", "join", link, "--yes", "--invite", code, "--file")
    assert quick(*invited, "first").code == 0
    assert quick(*invited, "second").code == 1


def test_brackets_in_what_a_server_says_are_text(quick: Here, server: FaultyServer) -> None:
    """Check it, because otherwise a server could hide a part of its terms."""
    joined = quick("device", "join", f"{server.url}/join/brackets", "--yes")
    joined.said()
    assert "Steps [per hour] [/or] more" in joined.err
    assert "Pace [step/s]" in joined.err


def test_rows_in_other_units_are_asked_about(quick: Here, server: FaultyServer) -> None:
    quick("device", "join", f"{server.url}/join/activity", "--yes").said()
    (quick.folder / "wrong.csv").write_text("1,2,3,4,walk\n2,3,4,5,walk\n3,4,5,6,run\n")
    run = ("device", "run", "--source")
    for source, typed in (("wrong.csv", ""), ("-", (quick.folder / "wrong.csv").read_text())):
        ran = quick(*run, source, typed=typed)
        assert (ran.code, ran.out) == (8, "")
        assert "crowdml: 3 of the first 3 rows cannot be in the task's units: they" in ran.err
        assert "To use these rows anyway, add --yes." in ran.err
    assert "Nothing was sent yet" in quick("device", "ledger").said()
    ran = quick(*run, "wrong.csv", "--yes")
    assert "3 samples kept, 1 check-in answered" in ran.said()
    assert "wrong.csv: 3 of the first 3 rows" in ran.err


def test_a_limit_of_nothing_is_rejected(quick: Here, server: FaultyServer) -> None:
    for option in ("--per-sample", "--per-device"):
        link = f"{server.url}/join/activity"
        rejected = quick("device", "join", link, "--yes", option, 0)
        assert rejected.code == 1, "0 must not mean the default"
        assert "must be a number above 0, found 0" in rejected.err
    assert not (quick.data / "activity.device").exists()


# Samples


@pytest.fixture
def joined(quick: Here, server: FaultyServer) -> Here:
    quick("device", "join", f"{server.url}/join/activity", "--yes").said()
    return quick


def test_json_lines_then_standard_input(joined: Here) -> None:
    lines = '{"x": [0.1, 0.2, 0.3, 0.4], "y": "run"}\n' + '{"x": [1, 0, 0, 0], "y": "still"}\n'
    (joined.folder / "samples.jsonl").write_text(lines)
    ran = joined("device", "run", "--source", "samples.jsonl").said()
    assert ran == "2 samples kept, 0 check-ins answered, 2 samples in the buffer\n"
    ran = Command(joined.folder)("device", "run", "--source", "-", typed=lines).said()
    assert ran == "2 samples kept, 1 check-in answered, 1 sample in the buffer\n"


def test_numbers_to_predict(quick: Here, server: FaultyServer) -> None:
    quick("device", "join", f"{server.url}/join/number", "--yes").said()
    ran = quick("device", "run", "--source", "-", typed="0.1,0.2,0.3,0.4,-7.5\n" * 3).said()
    assert ran == "3 samples kept, 1 check-in answered, 0 samples in the buffer\n"
    (row,) = quick("device", "ledger", "--json").json()["checkins"]
    assert (row["samples"], row["unit"]) == (3, "sample")
    assert "labels" not in quick("device", "ledger").said(), "there are none to count"


def test_a_bad_sample_is_skipped(joined: Here) -> None:
    ran = joined("device", "run", "--source", "-", typed=f"{ROW}0.1,0.2,walk\n{2 * ROW}")
    assert ran.said() == "3 samples kept, 1 check-in answered, 0 samples in the buffer\n"
    assert ran.err.startswith("skipped a sample: ")
    assert ran.err.count("\n") == 1


def test_a_bad_sample_stops_a_strict_run(joined: Here) -> None:
    rows = f"{ROW}0.1,0.2,0.3,0.4,crawl\n{2 * ROW}"
    joined("device", "run", "--strict", "--source", "-", typed=rows).error()
    assert joined("device", "run", "--source", "-").said().startswith("0 samples kept")
    with closing(DeviceStore(joined.data / "activity.device")) as store:
        assert store.n_samples == 1, "what came before is kept"


def test_a_file_is_taken_once(joined: Here) -> None:
    file = joined.folder / "samples.csv"
    file.write_text("a,b,c,d,label\n" + 4 * ROW)
    run = ("device", "run", "--source")
    first = joined(*run, "samples.csv").said()
    assert first == "4 samples kept, 1 check-in answered, 1 sample in the buffer\n"
    again = joined(*run, file).said().splitlines()
    assert again == [
        f"went on after line 5 of {file}",
        "0 samples kept, 0 check-ins answered, 1 sample in the buffer, 1 from before",
    ]
    with file.open("a") as lines:
        lines.write(2 * ROW)
    more = joined(*run, "samples.csv").said()
    assert "2 samples kept, 1 check-in answered, 0 samples in the buffer\n" in more
    file.write_text(3 * ROW)
    rejected = joined(*run, "samples.csv").error()
    assert "the first 7 lines of samples.csv were taken before" in rejected
    assert "count, and cost, twice" in rejected
    assert joined(*run, "samples.csv", "--again").said().startswith("3 samples kept")
    assert joined(*run, "samples.csv").said().startswith("went on after line 3 of samples.csv\n")
    assert len(joined("device", "ledger", "--json").json()["checkins"]) == 3


def test_a_limit_does_not_invite_to_pay_twice(quick: Here, server: FaultyServer) -> None:
    """Check that the next run takes only what did not fit into the buffer."""
    link = f"{server.url}/join/activity"
    quick("device", "join", link, "--yes", "--per-device", 1, "--file", "d").said()
    (quick.folder / "my samples.csv").write_text(
        "".join(f"0.1,0.2,-0.3,{k / 100},walk\n" for k in range(40))
    )
    run = ("device", "run", "--file", "d", "--source", "my samples.csv", "--wait", 1)
    assert quick(*run).said(4).splitlines() == [
        "33 samples kept, 1 check-in answered, 30 samples in the buffer",
        "the buffer is full: the rest of my samples.csv is not taken yet",
        "stopped at your limit on ε: 30 samples wait on this device. To go on: "
        "`crowdml device limits --file d --per-device 2`, then "
        "`crowdml device run --file d --source 'my samples.csv'`.",
    ]
    quick("device", "limits", "--file", "d", "--per-device", 9).said()
    assert quick(*run).said().splitlines() == [
        "went on after line 33 of my samples.csv",
        "7 samples kept, 3 check-ins answered, 1 sample in the buffer",
    ]
    rows = quick("device", "ledger", "--file", "d", "--json").json()["checkins"]
    assert sum(row["samples"] for row in rows) == 39


def test_a_recording_is_taken_once(quick: Here, server: FaultyServer) -> None:
    quick("device", "join", f"{server.url}/join/sensed", "--yes", "--per-device", 1).said()
    run = ("device", "run", "--readings", "--source", "lux.csv")
    file = quick.folder / "lux.csv"
    file.write_text("time,lux,label\n" + "".join(f"{k},0.1,walk\n" for k in range(5)))
    assert quick(*run).said().startswith("3 samples kept, 1 check-in")
    again = quick(*run).said()
    assert "went on after line 6" in again
    assert "0 samples kept, 0 check-ins" in again
    with file.open("a") as lines:
        lines.writelines(f"{k},0.1,walk\n" for k in range(5, 8))
    assert "1 sample kept" in quick(*run).said()
    with file.open("a") as lines:
        lines.writelines(f"{k},0.1,walk\n" for k in range(8, 12))
    said = quick(*run).said(4)
    assert "2 samples kept" in said
    assert "then `crowdml device run --readings --source lux.csv`." in said


def test_only_some_of_many_bad_samples_are_shown(joined: Here) -> None:
    ran = joined("device", "run", "--source", "-", typed=ROW + 9 * "0.1,walk\n")
    assert ran.said().startswith("1 sample kept")
    shown = ran.err.splitlines()
    assert shown[0] == "skipped a sample: line 2: x must be 4 numbers, found 1."
    assert [line.startswith("skipped a sample: ") for line in shown] == [True] * 5 + [False]
    assert shown[-1] == "… and 4 more"


def test_nothing_but_bad_samples_is_an_error(joined: Here) -> None:
    ran = joined("device", "run", "--source", "-", typed=3 * "walk\n")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "skipped a sample: line 2: x must be 4 numbers, found 0.",
        "skipped a sample: line 3: x must be 4 numbers, found 0.",
        "crowdml: standard input must have at least one valid sample, found none, and 2 that are "
        "not. The task wants lines of 4 numbers and then one of still, walk, run.",
    ]
    assert joined("device", "run", "--source", "-", typed="a,b,c,d,label\n").code == 0


@pytest.mark.parametrize("line", ["0.5,9.8,walk", "0.5,1,2,9.8,walk"])
def test_a_recording_without_its_option(quick: Here, server: FaultyServer, line: str) -> None:
    quick("device", "join", f"{server.url}/join/wide", "--yes").said()
    ran = quick("device", "run", "--source", "-", typed=f"{line}\n")
    assert ran.code == 1
    assert "This looks like a recording: add --readings." in ran.err
    ran = quick("device", "run", "--source", "-", typed="1,2,3,walk\n")
    assert "recording" not in ran.err


def test_an_error_shows_no_password(joined: Here) -> None:
    nowhere = joined("device", "run", "--source", "mqtt://ann:secret@host").error()
    assert nowhere.startswith("a topic's address must be mqtt://[user:password@]HOST[:PORT]/TOPIC")
    assert "secret" not in nowhere


# Sensor apps; see also tests/device/sources/test_apps.py


def test_labels_of_a_running_device(owner: Here, server: FaultyServer) -> None:
    """Check that a label is set, shown, and erased with the device."""
    assert owner("device", "join", f"{server.url}/join/sensed", "--yes", "--file", "s").code == 0
    label = ("device", "label", "--file", "s")
    assert owner(*label).said().startswith("no label is set: nothing is collected")
    assert owner(*label, "WALK").said() == "what is read now counts as walk\n"
    assert "the label must be one of still, walk, run" in owner(*label, "fly").error()
    assert owner(*label, "run", "--none").code == 2
    run = ("device", "run", "--file", "s", "--source", "-", "--format", "termux")
    ran = Command(owner.folder)(*run, "--label", "run", typed='{}\n{"Light": {"values": [3]}}\n')
    assert ran.said().startswith("what is read now counts as run\n0 samples kept")
    foreign = '{"Gyro": {"values": [3]}, "Hall": {"values": [3]}}\n'
    ran = Command(owner.folder)(*run, typed=10 * foreign)
    assert ran.err.startswith("nothing for this task came in the last 10 messages")
    assert "skipped" not in ran.said()
    assert owner(*label, "--none").said().startswith("no label is set")


# Topics; see also tests/device/sources/mqtt/test_topic.py and the killed devices of integration


def test_a_topic_until_it_is_stopped(joined: Here, tmp_path: Path) -> None:
    """Check it with TLS and a password, which is in the environment and never shown."""
    with broker_in(tmp_path / "broker", guarded=True) as broker:
        command = Command(joined.folder, {"CROWDML_SOURCE": broker.source})
        process = command.start("device", "run", "--discovery", "--ca", broker.certificate)
        assert eventually(lambda: broker.n_subscriptions() == 1)
        broker.publish(*4 * ['{"x": [0.1, 0.2, 0.3, 0.4], "y": "walk"}'], "oops")
        for _ in range(6):
            broker.publish("{}")
        assert eventually(lambda: broker.log.count("Received PUBACK from crowdml") == 11)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert any(topic.startswith("homeassistant/") for topic in broker.retained())
    assert out == "4 samples kept, 1 check-in answered, 1 sample in the buffer\n"
    assert err.count(": connected, listening on ") == 1
    assert err.count("skipped a sample: message ") == 2, "each different problem is printed once"
    assert err.endswith("… and 5 more like these\n")


def test_a_broker_that_does_not_know_us(joined: Here, tmp_path: Path) -> None:
    with broker_in(tmp_path / "broker", guarded=True) as broker:
        source = broker.source.replace("p%40ss", "guess")
        said = joined("device", "run", "--source", source, "--ca", broker.certificate).error()
    assert said == (
        f"the broker localhost:{broker.port} rejected the connection: Not authorized. "
        "Look at the user and the password in --source."
    )


def test_how_to_go_on_shows_no_password(joined: Here, tmp_path: Path) -> None:
    joined("device", "limits", "--per-device", 0.5).said()
    joined("device", "run", "--source", "-", typed=3 * ROW).said(4)
    with broker_in(tmp_path / "broker", guarded=True) as broker:
        command = Command(joined.folder)
        process = command.start(
            "device", "run", "--source", broker.source, "--ca", broker.certificate
        )
        assert eventually(lambda: broker.n_subscriptions() == 1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert "stopped at your limit on ε" in out
    assert f"--source 'mqtts://ann:…@localhost:{broker.port}/home/samples'" in out
    assert "word" not in out + err


def test_topics_need_paho(joined: Here) -> None:
    program = (
        "import sys; sys.modules['paho'] = None; from crowdml.cli import main; "
        "sys.argv = ['crowdml', 'device', 'run', '--source', 'mqtt://host/topic']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, cwd=joined.folder, env=joined.environment, timeout=PATIENCE,
    )  # fmt: skip
    sentence = Ran(done.returncode, done.stdout, done.stderr).error()
    assert sentence.startswith("this command needs paho")
    assert sentence.endswith("which is not installed. Run: pip install 'crowdml[mqtt]'")


def test_a_limit_stops_and_loses_nothing(quick: Here, server: FaultyServer) -> None:
    link = f"{server.url}/join/activity"
    quick("device", "join", link, "--yes", "--per-sample", 1, "--per-device", 2).said()
    ran = quick("device", "run", "--source", "-", typed=10 * ROW)
    assert ran.said(4).splitlines() == [
        "10 samples kept, 2 check-ins answered, 4 samples in the buffer",
        "stopped at your limit on ε: 4 samples wait on this device. To go on: "
        "`crowdml device limits --per-device 3`, then `crowdml device run --source -` with new "
        "samples only.",
    ]
    assert "the device limit is ε = 2; 2 is spent" in ran.err
    spent = quick("device", "ledger", "--json").json()
    assert spent["epsilon"] == {"per_sample": 1.0, "per_person": 6.0, "spent": 2.0}
    said = quick("device", "limits", "--per-device", 3).said()
    assert said == "limits: ε = 1 for a sample, 3 for the device\n"
    assert quick("device", "limits").said() == said
    ran = quick("device", "run", "--source", "-")
    assert ran.said() == "0 samples kept, 1 check-in answered, 0 samples in the buffer\n"
    assert quick("device", "ledger", "--json").json()["limits"]["per_device"] == 3.0
    rejected = quick("device", "limits", "--per-sample", 0, "--per-device", 3).error()
    assert "the limit per_sample must be a number above 0, found 0" in rejected
    said = quick("device", "limits", "--per-sample", 0.5).said()
    assert said == "limits: ε = 0.5 for a sample, 3 for the device\n"
    said = quick("device", "run", "--source", "-", typed=3 * ROW).said(4)
    assert "`crowdml device limits --per-sample 1 --per-device 4`, then" in said


def test_a_pause(quick: Here, owner: Here, server: FaultyServer) -> None:
    quick("device", "join", f"{server.url}/join/resting", "--yes").said()
    owner("task", "pause", "resting").said()
    with server.connected() as wire:
        assert eventually(lambda: wire.get("/v1/tasks/resting").json()["state"] == "paused")
    ran = quick("device", "run", "--source", "-", "--wait", 0.1, typed=4 * ROW)
    assert ran.said(6).startswith("4 samples kept, 0 check-ins answered, 4 samples in the buffer\n")
    assert "stopped because the task is paused: 4 samples wait on this device. Run again" in ran.out
    owner("task", "resume", "resting").said()
    ran = quick("device", "run", "--source", "-", "--wait", 60)
    assert ran.said() == "0 samples kept, 1 check-in answered, 0 samples in the buffer\n"


def test_nobody_answers(quick: Here) -> None:
    with serving(ScriptedServer()) as url:
        quick("device", "join", f"{url}/join/activity", "--yes").said()
    ran = quick("device", "run", "--source", "-", "--wait", 0.1, typed=4 * ROW)
    assert ran.said(5).splitlines() == [
        "4 samples kept, 0 check-ins answered, 4 samples in the buffer",
        "stopped without the server's answer: 4 samples wait on this device. Run again later: "
        "`crowdml device run --source -` with new samples only.",
    ]
    assert "Samples are kept; will try again." in ran.err
    left = quick("device", "leave")
    assert "is erased" in left.said()
    assert "left without telling the server" in left.err
    assert [path.name for path in quick.data.iterdir()] == ["participant.account"]


def test_a_revoked_device_stops(joined: Here, owner: Here, server: FaultyServer) -> None:
    with closing(DeviceStore(joined.data / "activity.device")) as store:
        assert store.identity
        name = store.identity.device
        token = store.identity.token
    assert owner("task", "revoke", name).said() == f"revoked {name}\n"
    with server.connected() as wire:
        assert eventually(lambda: wire.get("/v1/tasks/activity/model", token).status == 403)
    agreed = joined("device", "agree", "--yes")
    assert (agreed.code, "excluded by the task's owner" in agreed.err) == (1, True)
    said = joined("device", "run", "--source", "-", typed=4 * ROW).said(3)
    assert "0 check-ins answered" in said
    assert "the task is over for this device: " in said


# What was sent


def test_the_ledger(joined: Here) -> None:
    empty = joined("device", "ledger", "--json").json()
    assert empty["checkins"] == []
    joined("device", "run", "--source", "-", typed=6 * ROW).said()
    document = joined("device", "ledger", "--json").json()
    assert document["task"] == "activity"
    shown = joined("device", "show", "--json").json()
    assert shown["device"] == document["device"]
    assert (shown["task"], shown["checkins"], shown["ended"]) == ("activity", 2, None)
    assert f"device     {shown['device']}\n" in joined("device", "show").said()
    assert document["epsilon"] == {"per_sample": 1.0, "per_person": 6.0, "spent": 2.0}
    assert document["limits"] == {"per_sample": 1.0, "per_device": 20.0}
    assert [set(row) for row in document["checkins"]] == [
        {"id", "samples", "epsilon", "unit", "answer"}
    ] * 2
    assert [row["answer"] for row in document["checkins"]] == ["applied", "applied"]
    assert [(row["samples"], row["epsilon"]) for row in document["checkins"]] == [(3, 1.0)] * 2
    table = joined("device", "ledger").said()
    for row in document["checkins"]:
        assert row["id"] in table
    for expected in (
        "of 3 samples",
        "Spent: ε = 2 of the 20 that you allow.",
        "Any one sample has lost at most ε = 1 of the 1 that you allow.",
        "You as a person have lost at most ε = 6.",
        "From 2 check-ins they could at worst be right 89 times in 100. We call that moderate.",
    ):
        assert expected in table


def test_what_a_participant_gets(joined: Here, server: FaultyServer) -> None:
    """Check that results are printed for people, and are not part of the JSON."""
    rows = "1,0,0,0,still\n0,1,0,0,walk\n0,0,1,0,run\n"
    ran = joined("device", "run", "--source", "-", typed=30 * rows)
    for_you, bars = joined("device", "ledger").said().split("Over all tasks")[0].split("\n")[-4:-2]
    assert re.fullmatch(r"The crowd’s model guessed \d+ of your last 21 samples right\..*", for_you)
    assert re.fullmatch("Over time, from no sample to all: [▁▂▃▄▅▆▇█]{18,20}", bars)
    document = joined("device", "ledger", "--json").json()
    assert not {"right", "tallies", "for_you"} & {*document, *document["checkins"][0]}
    assert "right about" not in ran.said(4) + ran.err
    *said, tried, kept, left = joined("device", "result").said().splitlines()
    assert said[:2] == [for_you, bars]
    assert said[2].startswith("The task activity is running, with ")
    assert re.match(r"20 of \d+ check-ins so far were yours, the first was number \d+\.", said[3])
    assert tried == f"try the model: crowdml predict {server.url}/tasks/activity --source FILE"
    assert kept == "keep the model: crowdml device result --save activity.json"
    assert left == "leave, and erase everything: crowdml device leave"
    again = joined("device", "result", "--save", "activity.json").said().splitlines()
    assert again[-2] == "try the model: crowdml predict activity.json --source FILE"
    predicted = joined("predict", "activity.json", "--source", "-", typed="1,0,0,0\n").said()
    assert predicted.strip() in ("still", "walk", "run")


def test_leaving(joined: Here, owner: Here, server: FaultyServer) -> None:
    file = joined.data / "activity.device"
    joined("device", "run", "--source", "-", typed=3 * ROW).said()
    with closing(DeviceStore(file)) as store:
        assert store.identity
        name = store.identity.device
    assert joined("device", "leave", "--keep").said() == "left\n"
    states = owner("task", "show", "activity", "--json").json()["device_states"]
    assert states[name] != "active"
    assert len(joined("device", "ledger", "--json").json()["checkins"]) == 1
    after = joined("device", "run", "--source", "-", typed=3 * ROW).said(3)
    assert "the task is over for this device: left" in after
    rejected = joined("device", "join", f"{server.url}/join/activity", "--yes")
    assert "has left activity, and keeps its ledger only" in rejected.err
    assert joined("device", "leave").said() == f"left; {file} is erased\n"
    assert [path.name for path in joined.data.iterdir()] == ["participant.account"]


def test_terms_that_changed(quick: Here) -> None:
    script = ScriptedServer()
    script.model = (200, {}, msgspec.json.encode(script.memory.checkout("").checkout))
    with serving(script) as url:
        quick("device", "join", f"{url}/join/activity", "--yes").said()
        quick("device", "limits", "--per-sample", 5, "--per-device", 50).said()
        script.memory.terms = make_task(privacy__epsilon=5.0).terms.text
        ran = quick("device", "run", "--source", "-", typed=3 * ROW).said(7)
        assert "stopped because the terms changed: 3 samples wait on this device" in ran
        assert "To go on: `crowdml device agree`, then" in ran
        declined = quick("device", "agree", typed="n\n")
        assert declined.code == 1
        assert "and ε = 5 for a single sample." in declined.err
        assert "Agree to these terms?" in declined.err
        ran = quick("device", "run", "--source", "-").said(7)
        assert "stopped because the terms changed" in ran
        assert quick("device", "agree", "--yes").said() == "agreed to the terms of activity\n"
        ran = quick("device", "run", "--source", "-").said()
        assert ran == "0 samples kept, 1 check-in answered, 0 samples in the buffer\n"
        assert quick("device", "ledger", "--json").json()["epsilon"]["per_sample"] == 5.0


def test_terms_that_change_while_they_are_read(
    quick: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check a server that changes the terms after it has shown them."""
    script, text = ScriptedServer(), make_task(privacy__epsilon=0.5).terms.text
    with serving(script) as url:
        quick("device", "join", f"{url}/join/activity", "--yes").said()
        before = _pinned(quick)
        script.memory.terms = text

        def confirm(question: str, **options: Any) -> bool:
            script.memory.terms = make_task(privacy__epsilon=50.0).terms.text
            return True

        monkeypatch.setattr(typer, "confirm", confirm)
        rejected = quick("device", "agree")
        assert rejected.code == 1
        assert f"terms {terms_hash(text)}" in rejected.err, "the hash of what was shown is shown"
        assert f"the terms shown were {terms_hash(text)}" in rejected.err
        assert _pinned(quick) == before
        script.memory.terms = text
        assert (
            "Read them before joining"
            in quick("device", "join", f"{url}/join/activity", "--file", "another").err
        )
        assert not (tmp_path / "another").exists()


def _pinned(command: Here) -> str:
    (file,) = command.data.glob("**/*.device")
    with closing(DeviceStore(file)) as store:
        assert store.identity is not None
        return store.identity.terms


# Which device


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--source", "-"],
        ["ledger"],
        ["limits", "--per-sample", "1", "--per-device", "1"],
        ["agree", "--yes"],
        ["leave"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_which_device(quick: Here, tmp_path: Path, arguments: list[str]) -> None:
    folder = tmp_path / "data" / "crowdml"
    sentence = quick("device", *arguments).error()
    assert sentence == f"{folder} must have a device, found none. Join a task, or use --file."
    folder.mkdir(parents=True)
    for name in ("b.device", "a.device"):
        (folder / name).touch()
    assert (
        quick("device", *arguments)
        .error()
        .endswith("found a.device, b.device. Choose one with --file.")
    )
    missing = quick("device", *arguments, "--file", "c.device").error()
    assert missing == "there is no device file c.device. Join a task first."


def test_a_file_that_never_joined_is_no_device(joined: Here) -> None:
    stray = joined.data / "stray.device"
    DeviceStore(stray).close()
    assert joined("device", "ledger", "--json").json()["task"] == "activity"
    left = joined("device", "leave", "--file", stray).said()
    assert left == f"never joined; {stray} is erased\n"
    assert not list(joined.data.glob("stray*"))


def test_readings_by_name(owner: Here, server: FaultyServer, tmp_path: Path) -> None:
    """Check that one note says how a file is read, and that errors name line, column and value."""
    assert owner("device", "join", f"{server.url}/join/room", "--yes", "--file", "room").code == 0
    run = ("device", "run", "--file", "room", "--wait", "0", "--source")
    (tmp_path / "a.csv").write_text("id;seen;warmth;light\n1;walk;21,5;300\n2;walk;hot;300\n")
    ran = owner(*run, "a.csv", "--label", "seen", "--yes")
    assert "1 sample kept" in ran.said()
    how, _, skipped = ran.err.splitlines()
    assert how.startswith(
        "a.csv: columns are separated by semicolons, decimals by points or commas"
    )
    assert how.endswith("the answer in 'seen'; ignored are 'id'")
    assert skipped == (
        "skipped a sample: line 3: column 'warmth' must be a finite number, found 'hot'."
    )
    (tmp_path / "b.csv").write_text("0,5;21,5;walk\n")
    assert "1 sample kept" in owner(*run, "b.csv", "--csv", ";,", "--yes").said()
    (tmp_path / "c.csv").write_text("light,warmht,y\n1,2,walk\n")
    assert "'warmth' is missing, found 'warmht'. Did you" in owner(*run, "c.csv").error()
