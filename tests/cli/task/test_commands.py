"""Test `crowdml task`, from an empty file to a model."""

from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crowdml import load_model
from crowdml.protocol import Task, checkin_type, terms_hash
from crowdml.server import Store
from crowdml.server.log.decision import Arrival
from crowdml.server.log.learner import Learner
from tests.cli.command import Command, Here
from tests.support.servers import checkin, create, make_task, recompute

SUMMARY = {
    "name", "title", "state", "mechanism", "epsilon", "devices", "checkins", "terms_sha256",
}  # fmt: skip


def test_the_life_of_a_task(crowdml: Command, quick: Here) -> None:
    task_text = _filled_in(quick("task", "new", "steps").said())
    (crowdml.folder / "steps.toml").write_text(task_text)
    hash_ = terms_hash(Task.from_toml(task_text).terms.text)
    assert crowdml("task", "create", "steps.toml").said() == (
        f"created steps; its terms have the hash {hash_}\n"
        "phones cannot take part: the task has no [features.sensor]\n"
    )
    (row,) = crowdml("task", "list", "--json").json()["tasks"]
    assert set(row) >= SUMMARY
    assert row["terms_sha256"] == hash_
    assert (row["state"], row["devices"], row["checkins"]) == ("running", 0, 0)
    assert (row["mechanism"], row["epsilon"]) == ("direction", 4.0)
    asked = quick("task", "stop", "steps")
    assert (asked.code, "Use --yes" in asked.err) == (1, True)
    assert quick("task", "stop", "steps", typed="n\n").code == 1
    for command, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        done = quick("task", command, "steps", typed="y\n")
        assert done.said().strip() == f"steps is {state}"
        shown = quick("task", "show", "steps", "--json").json()
        assert set(shown) >= SUMMARY | {"terms", "device_states"}
        assert shown["state"] == state
        assert terms_hash(shown["terms"]) == hash_
    assert "stopped for good" in quick("task", "resume", "steps").error()


def test_a_task_is_edited_and_deleted(quick: Here) -> None:
    create("sqlite:///crowdml.db", make_task("walks"))
    assert "edit needs a change, found none" in quick("task", "edit", "walks").error()
    assert (
        quick("task", "edit", "walks", "--title", "Steps", "--updates", 9).said()
        == "edited walks\n"
    )
    assert quick("task", "show", "walks", "--json").json()["title"] == "Steps"
    assert "title must be a text" in quick("task", "edit", "walks", "--title", "").error()
    assert quick("task", "delete", "walks").said() == "deleted walks; 0 devices had joined it\n"
    assert quick("task", "list", "--json").json() == {"tasks": []}


def test_a_task_that_ended_by_itself_is_reopened(quick: Here) -> None:
    """Check it, and that no command calls the task running before."""
    soon = {"stop__error": 0.9, "stop__samples": 3, "stop__devices": 1, "stop__window": 20}
    task = make_task("walks", privacy__epsilon=float("inf"), **soon)
    create("sqlite:///crowdml.db", task)
    assert "walks is running" in quick("task", "reopen", "walks").error()
    with closing(Store("sqlite:///crowdml.db")) as store:
        row = store.task("walks")
        learner = Learner(row, store.log(row.id), snapshot_every=1000)
        read = msgspec.json.Decoder(checkin_type(task.terms.mechanism().payload_type))
        for seed in range(20):
            device, _ = store.enrol(row.id, None, invite_required=False)
            sent = msgspec.structs.replace(read.decode(checkin(task, seed)), errors=0)
            learner.ingest([Arrival(device, sent)])
        assert learner.state == "reached"
    for command in ("resume", "pause", "stop"):
        sentence = quick("task", command, "walks").error()
        assert "has ended: its target error is reached." in sentence
        assert "`crowdml task reopen` continues it." in sentence
    (listed,) = quick("task", "list", "--json").json()["tasks"]
    assert listed["state"] == quick("task", "show", "walks", "--json").json()["state"] == "reached"
    assert quick("task", "reopen", "walks").said() == "walks is running\n"
    assert quick("task", "show", "walks", "--json").json()["state"] == "running"


def _filled_in(task_text: str) -> str:
    return task_text.replace('"Say ', '"We say ')


@pytest.mark.parametrize(
    "field", ["objective", "owner", "contact", "purpose", "sensors", "description"]
)
def test_the_templates_sentences_are_rejected(quick: Here, tmp_path: Path, field: str) -> None:
    task_text = quick("task", "new").said()
    kept = next(line for line in task_text.splitlines() if line.startswith(f"{field} = "))
    for text in (kept, kept[:-1] + ' More."'):
        changed = _filled_in(task_text).replace(_filled_in(kept), text)
        (tmp_path / "task.toml").write_text(changed)
        sentence = quick("task", "create", "task.toml").error()
        assert f"{field} must be your own words, found the template's 'Say " in sentence
    assert not (tmp_path / "crowdml.db").exists()


def test_phones_need_a_sensor(quick: Here, tmp_path: Path) -> None:
    text = _filled_in(quick("task", "new").said()).replace("# sensor = ", "sensor = ")
    (tmp_path / "task.toml").write_text(text)
    assert "phones" not in quick("task", "create", "task.toml").said()


@pytest.fixture
def database(quick: Here) -> str:
    """Make a task with a device and three check-ins, in the default place."""
    database = "sqlite:///crowdml.db"
    task = make_task("walks", model__intercept=True)
    create(database, task)
    with closing(Store(database)) as store:
        row = store.task("walks")
        device, _ = store.enrol(row.id, None, invite_required=False)
        learner = Learner(row, store.log(row.id), snapshot_every=1000)
        read = msgspec.json.Decoder(checkin_type(task.terms.mechanism().payload_type))
        learner.ingest([Arrival(device, read.decode(checkin(task, seed=n))) for n in range(3)])
    return database


def test_what_people_see(quick: Here, database: str) -> None:
    table = quick("task", "list").said()
    assert "walks" in table
    assert "running" in table
    shown = quick("task", "show", "walks").said()
    for expected in ("walks", "running", '"epsilon_g": ', "device ", "active"):
        assert expected in shown
    assert quick("task", "list", "--json").json()["tasks"][0]["checkins"] == 3


def test_no_tasks_yet(quick: Here, empty: str) -> None:
    assert "crowdml task create" in quick("task", "list").said()
    assert quick("task", "list", "--json").json() == {"tasks": []}


def test_a_model_in_three_formats(quick: Here, database: str, tmp_path: Path) -> None:
    for kind in ("npz", "json", "onnx"):
        said = quick("task", "export", "walks", "--out", f"walks.{kind}").said()
        assert said == f"wrote version 3 of walks to walks.{kind}\n"
    fold = recompute(database, "walks")
    assert fold.exported.any()
    for name in ("walks.npz", "walks.json"):
        model = load_model(tmp_path / name)
        found = np.concatenate([model.weights.ravel(), model.intercepts])
        assert found.tobytes() == fold.exported.tobytes()
        assert (model.about.task, model.about.version) == ("walks", 3)
    assert (tmp_path / "walks.onnx").read_bytes()


def test_a_model_card(quick: Here, database: str, tmp_path: Path) -> None:
    printed = quick("task", "card", "walks").said()
    assert printed.startswith('---\n{\n  "license": "unknown",\n')
    assert "\n# Activity\n" in printed
    said = quick("task", "card", "walks", "--out", "README.md").said()
    assert said == "wrote the model card of walks to README.md\n"
    assert (tmp_path / "README.md").read_text() == printed
    assert (
        "cannot write to nowhere/x.md"
        in quick("task", "card", "walks", "--out", "nowhere/x.md").error()
    )
    create(database, make_task("new"))
    assert "new has learnt nothing yet" in quick("task", "card", "new").error()


def test_where_a_model_cannot_go(quick: Here, database: str) -> None:
    create(database, make_task("new"))
    assert "new has learnt nothing yet" in quick("task", "export", "new", "--out", "x.npz").error()
    assert "nowhere" in quick("task", "export", "walks", "--out", "nowhere/walks.npz").error()


def test_a_task_without_privacy_says_so_when_it_is_created(quick: Here, tmp_path: Path) -> None:
    text = quick("task", "new", "open-book").said()
    text = text.replace("epsilon = 4.0", 'epsilon = inf\nmechanism = "laplace"')
    (tmp_path / "task.toml").write_text(_filled_in(text))
    said = quick("task", "create", "task.toml").said()
    assert "WARNING: this task is NOT PRIVATE" in said
    assert "WARNING: Anyone may join this task, and laplace noise" in said
    assert quick("task", "list", "--json").json()["tasks"][0]["epsilon"] == "inf"
    assert quick("task", "show", "open-book", "--json").json()["epsilon"] == "inf"


def test_a_task_is_created_once(quick: Here, tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(_filled_in(quick("task", "new").said()))
    quick("task", "create", "task.toml").said()
    assert "there is a task 'my-task' already" in quick("task", "create", "task.toml").error()


def test_all_wrong_fields_are_named_at_once(quick: Here, tmp_path: Path) -> None:
    text = quick("task", "new").said()
    for old, new in [
        ("batch = 50 ", 'batch = "many"\nbuffered = 1 '), ("epsilon = 4.0", "epsilon = 0.0"),
        ('"softmax"', '"svm"'), ("updates = 1000 ", "updates = 0\ncolour = 1 "),
    ]:  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "task.toml").write_text(text)
    lines = quick("task", "create", "task.toml").errors()
    assert [line.split()[0] for line in lines] == [
        "model.kind", "privacy.epsilon", "collection.buffered", "collection.batch", "stop.colour",
        "stop.updates", "objective", "owner", "contact", "purpose", "sensors",
        "features.description",
    ]  # fmt: skip
    assert 'collection.batch must be a whole number from 1 to 100,000, found "many".' in lines
    assert "collection.buffered is not known here. Did you mean collection.buffer?" in lines
    assert not (tmp_path / "crowdml.db").exists()


@pytest.mark.parametrize("command", ["show", "pause", "resume", "stop", "invite", "delete"])
def test_a_task_that_is_not_there(quick: Here, empty: str, command: str) -> None:
    sentence = quick("task", command, "nobody").error()
    assert sentence == "there is no task 'nobody'. `crowdml task list` shows them."


def test_devices_and_invites_that_make_no_sense(quick: Here, database: str) -> None:
    assert "no device 'nobody'" in quick("task", "revoke", "nobody").error()
    assert "Everyone may join walks without an invite" in quick("task", "invite", "walks").error()
    create(database, make_task("club", enrolment__mode="invite"))
    assert (
        "--uses must lie in 1 … 1,000,000,000, found 0"
        in quick("task", "invite", "club", "--uses", 0).error()
    )
    first, second = (quick("task", "invite", "club") for _ in range(2))
    assert first.said() != second.said()
    assert f"/join/club --invite {first.out.strip()}" in first.err
    (name,) = quick("task", "show", "walks", "--json").json()["device_states"]
    assert quick("task", "revoke", name).said() == f"revoked {name}\n"
    assert quick("task", "show", "walks", "--json").json()["device_states"] == {name: "revoked"}


def test_where_the_database_is(quick: Here, tmp_path: Path) -> None:
    create(f"sqlite:///{tmp_path / 'other.db'}", make_task("elsewhere"))
    named = quick("task", "list", "--json", "--database", "sqlite:///other.db").json()
    assert [row["name"] for row in named["tasks"]] == ["elsewhere"]
    quick.changes["CROWDML_DATABASE"] = "sqlite:///other.db"
    assert quick("task", "list", "--json").json() == named


def test_brackets_in_a_title_are_text(quick: Here) -> None:
    create("sqlite:///crowdml.db", make_task("walks", __title="Steps [per hour] [/or] more"))
    assert "Steps [per hour] [/or] more" in quick("task", "list").said()
    assert "Steps [per hour] [/or] more" in quick("task", "show", "walks").said()


def test_a_byte_order_mark_and_a_file_that_never_ends(quick: Here) -> None:
    text = quick("task", "new").said().replace('"Say ', '"We say ')
    (quick.folder / "task.toml").write_text(text, encoding="utf-8-sig")
    assert "created " in quick("task", "create", "task.toml").said()
    assert "must have at most 16,777,216 bytes" in quick("task", "create", "/dev/zero").error()
