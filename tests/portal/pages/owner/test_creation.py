"""Creating a task through the portal: the rules, words and results of a task file."""

import re
import tomllib
from html import unescape
from pathlib import Path

import pytest

from crowdml.cli.task.template import TASK_TEMPLATE
from crowdml.errors import InvalidTask, Mistake
from crowdml.portal.pages.owner.creation import FIELD_LABELS
from crowdml.portal.pages.owner.field import FILE_ONLY, sentence
from crowdml.portal.pages.owner.fields import DEFAULTS, FIELDS, STEPS
from crowdml.portal.pages.owner.task_toml import field_value, task_toml
from crowdml.portal.words import advice
from crowdml.portal.words.language import catalogue, use_language
from crowdml.privacy import DirectionMechanism, Roles
from crowdml.protocol import MISSING, Features, Sensor, Task, terms_hash
from crowdml.protocol import fields_of as fields_of_document
from crowdml.protocol.task.task_file import TaskFile
from tests.portal.owner_browser import (
    NAME,
    PASSWORD,
    Browser,
    Portal,
    fields_of,
    text_of,
    wrong_inputs,
)
from tests.support.servers import create, rows

FORM = DEFAULTS | {
    "name": "steps",
    "title": "What is this device doing?",
    "objective": "To count steps.",
    "owner": "Ana, Example University",
    "contact": "ana@example.org",
    "purpose": "A free app.",
    "sensors": "The accelerometer.",
    "target.labels": "Still\r\nWalking\r\n\r\n Jogging ",
}
XSS = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"


def test_the_form_has_every_field_of_a_task_file() -> None:
    assert set(FIELDS) | FILE_ONLY == {name for name, _ in fields_of_document(TaskFile)}


def test_the_form_starts_as_private_as_the_starter() -> None:
    starter = Task.from_toml(TASK_TEMPLATE.format(name="steps"))
    form = Task.from_toml(task_toml(FORM))
    assert form.terms.privacy == starter.terms.privacy
    assert form.terms.collection == starter.terms.collection
    assert form.terms.model == starter.terms.model
    assert form.terms.target == starter.terms.target
    assert (form.optimizer, form.stop, form.enrolment) == (
        starter.optimizer, starter.stop, starter.enrolment,
    )  # fmt: skip


def test_readings_in_their_own_units() -> None:
    readings = {
        "features.sensor.kind": "", "features.names": "light\r\nhours of sun",
        "features.center": "300\n6.5", "features.scale": "250\n 3 ", "features.length": "2.5",
        "features.missing": "center",
    }  # fmt: skip
    terms = Task.from_toml(task_toml(FORM | readings)).terms
    features = Features(
        2, names=("light", "hours of sun"), center=(300, 6.5), scale=(250, 3), length=2.5,
        missing="center",
    )  # fmt: skip
    assert terms.features == features
    assert terms.model.intercept
    with pytest.raises(InvalidTask, match=r"^features\.scale must be .* found \"wide\" in it"):
        Task.from_toml(task_toml(FORM | readings | {"features.scale": "3\nwide"}))


def test_a_full_form_is_the_same_as_its_task_file() -> None:
    manual = {
        "features.count": "2", "features.description": "two numbers: \"a\" \\ and 🐦 \n\t b",
        "features.sensor.kind": "manual", "features.sensor.transform": "values",
        "features.sensor.rate": "0.5", "features.sensor.window": "8",
        "features.sensor.first_bin": "0.1", "features.sensor.scale": "1e3",
        "features.sensor.every": "60", "features.sensor.trigger": "label-change",
        "features.sensor.fields": "height\nwidth", "target.labels": "",
        "target.description": "weight", "target.scale": "70", "model.kind": "huber",
        "model.clip": "0.5", "model.regularization": "1e-4", "model.radius": "10",
        "model.intercept": "on", "model.delta": "2", "model.tolerance": "3",
        "privacy.mechanism": "gaussian", "privacy.epsilon": "0.5", "privacy.epsilon_e": "0.1",
        "privacy.delta": "1e-7", "collection.buffer": "99", "collection.heldout": "0.25",
        "optimizer.kind": "sgd", "optimizer.rate": "inverse", "optimizer.c": "4",
        "optimizer.averaging": "2",
        "stop.error": "0.1", "stop.window": "100", "stop.samples": "50",
        "stop.confidence": "0.99", "stop.devices": "5", "enrolment.mode": "invite",
        "enrolment.checkins_per_minute": "5", "enrolment.max_staleness": "7",
    }  # fmt: skip
    document = tomllib.loads(task_toml(FORM | manual))
    assert document["features"]["description"] == manual["features.description"]
    task = Task.from_toml(task_toml(FORM | manual))
    sensor = task.terms.features.sensor
    assert sensor is not None
    assert (sensor.fields, sensor.scale, sensor.window) == (("height", "width"), 1000.0, 8)
    assert task.terms.model.intercept
    assert (task.terms.mechanism_name, task.terms.target.scale) == ("gaussian", 70)
    assert (task.stop.error, task.enrolment.max_staleness) == (0.1, 7)
    stop = {"updates", "error", "window", "samples", "confidence", "devices"}
    assert set(document["stop"]) == stop


def test_a_direction_can_be_chosen_by_hand() -> None:
    by_hand = {
        "privacy.directions": "64", "collection.checkins": "3", "collection.evaluators": "0.5",
        "collection.counters": "0.2",
        "optimizer.rate": "planned", "optimizer.reach": "20",
    }  # fmt: skip
    task = Task.from_toml(task_toml(FORM | by_hand))
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    assert (mechanism.directions, mechanism.checkins) == (64, 3)
    assert mechanism.roles == Roles(evaluators=0.5, counters=0.2)
    assert mechanism.epsilon == pytest.approx(4 / 3)
    assert task.optimizer.reach == 20


WRONG = {
    "name": ["Has Spaces", "-x", "ä", "a" * 64],
    "title": ["", "x" * 201],
    "objective": ["", "x" * 2001],
    "owner": ["", "x" * 201],
    "contact": ["", "x" * 201],
    "purpose": ["", "x" * 2001],
    "sensors": ["", "x" * 2001],
    "features.count": ["0", "100001", "3.5", "many", "1e99", "9" * 30],
    "features.description": ["x" * 2001],
    "features.sensor.kind": ["smell"],
    "features.sensor.rate": ["0", "fast"],
    "features.sensor.window": ["0", "4097"],
    "features.sensor.transform": ["values", "wavelet"],
    "features.sensor.first_bin": ["2"],
    "features.sensor.scale": ["0"],
    "features.sensor.every": ["-1"],
    "features.sensor.trigger": ["never"],
    "features.sensor.fields": ["height"],
    "features.names": ["x" * 81],
    "features.center": ["1", "warm"],
    "features.scale": ["0", "wide"],
    "features.length": ["0", "long"],
    "features.missing": ["drop", "center"],
    "target.labels": ["one", "a\na", "x" * 81 + "\nb", "\n".join(str(n) for n in range(1001))],
    "target.description": ["x" * 2001],
    "target.scale": ["0", "large"],
    "target.unit": ["x" * 41],
    "model.kind": ["forest", "ridge"],
    "model.clip": ["0", "-1", "nan", "small", "0.5"],
    "model.regularization": ["-1", "1e7"],
    "model.radius": ["0", "inf"],
    "model.delta": ["0"],
    "model.tolerance": ["x"],
    "privacy.mechanism": ["magic"],
    "privacy.epsilon": ["0", "-1", "nan", "1e7", "1e-7", "little", "41", "inf"],
    "privacy.epsilon_e": ["0", "2", "inf"],
    "privacy.epsilon_y": ["0", "x", "0.1"],
    "privacy.delta": ["0", "1", "1e-6"],
    "privacy.directions": ["1", "5000", "many"],
    "collection.batch": ["", "0", "1.5"],
    "collection.buffer": ["3", "many"],
    "collection.heldout": ["-0.1", "0.6", "0.1"],
    "collection.checkins": ["0", "1.5"],
    "collection.evaluators": ["-0.1", "1"],
    "collection.counters": ["-0.1", "1"],
    "optimizer.kind": ["magic"],
    "optimizer.rate": ["magic"],
    "optimizer.c": ["0"],
    "optimizer.averaging": ["-1"],
    "optimizer.reach": ["0", "far"],
    "stop.updates": ["", "0", "1e5x"],
    "stop.error": ["0", "1"],
    "stop.window": ["1"],
    "stop.samples": ["0"],
    "stop.confidence": ["0.5", "1"],
    "stop.devices": ["0"],
    "enrolment.mode": ["closed"],
    "enrolment.checkins_per_minute": ["0"],
    "enrolment.max_staleness": ["-1", "1.5"],
}
PIPELINE = {"features.sensor.kind": "motion"}
ENGLISH = re.compile(r"\b(must|is|be|of|and|the|it|found|for|with)\b")


def test_every_field_can_be_wrong() -> None:
    assert set(WRONG) == set(FIELDS) - {"model.intercept"}


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_field_gets_the_sentence_of_a_task_file(key: str) -> None:
    for value in WRONG[key]:
        (mistake,) = mistakes(wrong(key, value))
        assert mistake.field == key
        with use_language("de"):
            said = sentence(mistake)
        assert said.startswith("Diese Angabe ")
        assert not ENGLISH.search(said), said


def wrong(key: str, value: str) -> dict[str, str]:
    return (PIPELINE if ".sensor." in key else {}) | {key: value}


def mistakes(changes: dict[str, str]) -> tuple[Mistake, ...]:
    with pytest.raises(InvalidTask) as rejected:
        Task.from_toml(task_toml(FORM | changes))
    return rejected.value.mistakes


def test_every_wrong_value_is_kept_with_its_sentence_beside_it(portal: Portal) -> None:
    """Send a wrong value of every field at once, and alone what the other mistakes hide."""
    before, alone = rows(portal.file, "tasks"), list[tuple[str, str]]()
    with portal.owner() as browser:
        for turn in range(max(map(len, WRONG.values()))):
            given = {key: values[turn] for key, values in WRONG.items() if turn < len(values)}
            marked = expect_marks(browser, PIPELINE | given)
            alone += [(key, value) for key, value in given.items() if key not in marked]
        assert len(alone) < 20
        for key, value in alone:
            assert expect_marks(browser, wrong(key, value)) == {key}
    assert rows(portal.file, "tasks") == before


def expect_marks(browser: Browser, changes: dict[str, str]) -> set[str]:
    """Check that the page marks what is wrong in a task file, and keeps all; return the marks."""
    form = FORM | changes | {"not_private": "on"}
    wanted = {each.field: each for each in mistakes(changes)}
    for do in ("create", "preview"):
        reply = browser.send("/owner/new", form | {"do": do})
        assert reply.status == 200
        found = wrong_inputs(reply)
        assert set(found) == set(wanted)
        for field, mistake in wanted.items():
            missing = mistake.rule == MISSING
            said = "This is missing. Fill it in." if missing else f"This {mistake.rule}"
            assert found[field].startswith(" ".join(said.split()))
        page, words = reply.body.decode(), text_of(reply)
        assert words.startswith("Error: ")
        many = f"{len(wanted)} things are" if len(wanted) > 1 else "One thing is"
        assert f"{many} wrong: " in words
        assert page.count('role="alert"') == 1
        assert page.count("autofocus") == 1
        assert all(f'href="#{field.replace(".", "-")}"' in page for field in wanted)
        kept = fields_of(reply)
        for name in FORM:
            assert kept.get(name, "") == form[name].replace("\r\n", "\n"), name
    return set(found)


def test_every_text_of_the_form_has_a_translation() -> None:
    known = catalogue("de")
    steps = [text for s in STEPS for text in (s.title, s.about, *(f.title for f in s.folds))]
    fields = [
        text
        for f in FIELDS.values()
        for text in (f.label, f.about, f.none, *f.names.values(), *f.short.values())
        if isinstance(text, str)
    ]
    missing = [
        text for text in (*steps, *fields, *FIELD_LABELS.values()) if text and text not in known
    ]
    assert not missing


@pytest.mark.parametrize(
    ("language", "typed", "kept"),
    [
        ("en", "1,000", 1000), ("en", "0.15", 0.15), ("en", "0,15", "0,15"), ("en", "1.000", 1.0),
        ("de", "0,15", 0.15), ("de", "0.15", 0.15), ("de", "1.000", "1.000"),
        ("de", "1.000,5", 1000.5), ("de", "1000", 1000), ("de", "-1,5", -1.5),
    ],
)  # fmt: skip
def test_a_number_is_read_as_the_page_writes_it(language: str, typed: str, kept: object) -> None:
    """A text is kept where it may mean another number, and the rules reject it."""
    with use_language(language):
        assert field_value(FIELDS["model.radius"], typed) == kept


def test_an_ambiguous_number_is_rejected_with_a_sentence() -> None:
    with use_language("de"):
        with pytest.raises(InvalidTask) as rejected:
            Task.from_toml(task_toml(FORM | {"model.radius": "1.000"}))
        (mistake,) = rejected.value.mistakes
        said = sentence(mistake)
    assert said.endswith("gefunden: „1.000“. Schreiben Sie Tausend ohne Punkt: 1000.")


def test_what_follows_need_not_be_typed() -> None:
    def made(**changes: str) -> Task:
        return Task.from_toml(
            task_toml(FORM | {k.replace("__", "."): v for k, v in changes.items()})
        )

    usual = made(name="")
    assert (usual.name, usual.terms.features.count) == ("what-is-this-device-doing", 33)
    assert usual.terms.features.sensor == Sensor("motion", first_bin=0.1)
    typed = made(features__sensor__kind="manual", features__sensor__fields="height\n\nwidth")
    features = typed.terms.features
    assert features.sensor is not None
    assert (features.count, features.sensor.transform) == (2, "values")
    number = made(target__labels="", features__sensor__transform="summary")
    assert (number.terms.model.kind, number.terms.features.count) == ("huber", 4)
    assert made(features__sensor__window="100").terms.features.count == 51


def test_all_wrong_fields_are_named_in_one_round_each_beside_its_input(portal: Portal) -> None:
    wrong = {
        "name": "activity", "title": "", "features.count": "many", "privacy.mechanism": "laplace",
        "privacy.epsilon": "inf", "privacy.epsilon_e": "0.1", "collection.buffer": "3",
        "stop.error": "2",
    }  # fmt: skip
    with portal.owner() as browser:
        reply = browser.send("/owner/new", FORM | wrong | {"do": "create"})
        assert reply.status == 200
        assert wrong_inputs(reply) == {
            "name": "This is taken: there is a task 'activity' already. Choose another name.",
            "title": "This is missing. Fill it in.",
            "features.count": 'This must be a whole number from 1 to 100,000, found "many".',
            "privacy.epsilon_e": "This must be left out where privacy.epsilon is inf, which means "
            "no noise at all, found 0.1. Remove it.",
            "not_private": "This must be ticked where ε is above 20, for then nothing is "
            "protected. Tick it, or choose a smaller ε.",
            "collection.buffer": "This must hold a whole batch of 50 samples, found 3. Raise it, "
            "or lower the batch.",
            "stop.error": "This must be a number above 0 and below 1, found 2.",
        }
        page = reply.body.decode()
        assert "7 things are wrong:" in page
        assert page.count("autofocus") == 1
        assert page.index("autofocus") < page.index('name="objective"'), "the first is focused"
        links = re.findall(r'<li><a href="#([^"]+)">', page)
        assert links == [name.replace(".", "-") for name in wrong_inputs(reply)]
        assert all(page.count(f'id="{link}"') == 1 for link in links)


def test_preview_shows_what_participants_will_see_and_changes_nothing(portal: Portal) -> None:
    task = Task.from_toml(task_toml(FORM))
    with portal.owner() as browser:
        before = rows(portal.file, "tasks", "actions")
        reply = browser.send("/owner/new", FORM | {"do": "preview"})
        assert reply.status == 200
        assert "not_private" not in fields_of(reply)
        words = text_of(reply)
        said = advice(task)
        assert said is not None
        for part in (
            task.title, task.terms.owner, task.terms.contact, task.terms.purpose,
            "About 25 minutes with the page open, once.", "Still, Walking, Jogging",
            "ε = 4, for everything that you send to this task.",
            "right 983 times in 1,000. We call that moderate.", terms_hash(task.terms.text),
            " ".join(task.terms.text.split()), "Moderate privacy ε = 4",
            "At most 4 bytes of it depend on samples", "1,000 check-ins", " ".join(said.split()),
        ):  # fmt: skip
            assert part in words
        assert "noise" not in words.partition("Preview: what")[2].partition("Change it")[0]
    assert rows(portal.file, "tasks", "actions") == before


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"privacy.mechanism": "laplace", "privacy.epsilon": "1"},
            [
                "in each of 20 check-ins, and ε = 1 for a single sample. Mechanism: laplace.",
                "Very weak privacy ε = 20",
                "Of ε, the gradient takes 0.9,",
            ],
        ),
        (
            {"privacy.mechanism": "gaussian", "privacy.epsilon": "2"},
            [
                "With a chance of one in 1,000,000, the δ of this task, more can be learnt",
                "Of ρ, the gradient takes ",
            ],
        ),
        (
            {"collection.checkins": "4", "features.sensor.kind": "motion"},
            [
                "With one check-in instead of 4 it would be 74 times in 100.",
                "About 25 minutes with the page open for each check-in, about 100 minutes for all",
            ],
        ),
        ({"collection.evaluators": "0"}, ["The model’s error will not be measured."]),
        ({"stop.updates": "10"}, ["In the end the model’s error will hardly be known"]),
        (
            {"privacy.mechanism": "laplace", "privacy.epsilon": "inf", "not_private": "on"},
            ["THIS TASK IS NOT PRIVATE", "Not private ε = ∞", "everything leaves as it is"],
        ),
        (
            {"privacy.mechanism": "gaussian"},
            ["Anyone may join this task, and gaussian noise does not withstand liars"],
        ),
    ],
)
def test_preview_knows_the_mechanisms(
    portal: Portal, changes: dict[str, str], parts: list[str]
) -> None:
    with portal.owner() as browser:
        reply = browser.send("/owner/new", FORM | changes | {"do": "preview"})
    assert reply.status == 200, wrong_inputs(reply)
    for part in parts:
        assert part in text_of(reply)


BUTTON = "Simulate this crowd"


@pytest.mark.parametrize("pasted", [False, True])
def test_what_the_crowd_should_reach_is_simulated_when_asked(portal: Portal, pasted: bool) -> None:
    form = {"toml": TASK_TEMPLATE.format(name="asked")} if pasted else FORM
    with portal.owner() as browser:
        before = rows(portal.file, "tasks", "actions")
        assert BUTTON in text_of(browser.send("/owner/new", form | {"do": "preview"}))
        reply = browser.send("/owner/new", form | {"do": "plan"})
    words = text_of(reply)
    assert reply.status == 200
    assert "1,000 devices reach an error of " in words
    assert "Simulated on made-up data of medium difficulty. crowdml plan FILE --data" in words
    assert BUTTON not in words
    assert reply.body.count(b"autofocus") == 1
    assert rows(portal.file, "tasks", "actions") == before


def test_recommended_settings_are_taken_over(portal: Portal) -> None:
    noisy = {"privacy.mechanism": "laplace", "privacy.epsilon_e": "0.1", "model.clip": "1"}
    with portal.owner() as browser:
        reply = browser.send("/owner/new", FORM | noisy | {"use": "direction 25 2 1000"})
        assert reply.status == 200, wrong_inputs(reply)
        kept = fields_of(reply)
        for use in ("", "magic", "direction many", "magic 5 9 9", "laplace 5 9 9"):
            assert browser.send("/owner/new", FORM | {"use": use}).status == 200
    settings = ("privacy.mechanism", "collection.batch", "collection.checkins", "stop.updates")
    assert [kept[key] for key in settings] == ["direction", "25", "2", "2000"]
    assert kept["privacy.epsilon_e"] == kept["model.clip"] == ""


def test_recommended_settings_go_into_a_pasted_file(portal: Portal) -> None:
    text = TASK_TEMPLATE.format(name="pasted").replace("\n", "\r\n")
    with portal.owner() as browser:
        reply = browser.send("/owner/new", {"toml": text, "use": "direction 25 2 300"})
        assert reply.status == 200, wrong_inputs(reply)
        wrong = browser.send("/owner/new", {"toml": "name =", "use": "direction 25 2 300"})
        assert list(wrong_inputs(wrong)) == ["toml"]
    changed = fields_of(reply)["toml"]
    task = Task.from_toml(changed)
    collection = task.terms.collection
    assert (collection.batch, collection.checkins, task.t_max) == (25, 2, 600)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments == [line for line in changed.splitlines() if line.startswith("#")]


def test_only_what_is_right_and_private_is_simulated(portal: Portal) -> None:
    no_noise = {"privacy.mechanism": "laplace", "privacy.epsilon": "inf", "not_private": "on"}
    with portal.owner() as browser:
        for changes in (no_noise, {"features.count": "0"}):
            reply = browser.send("/owner/new", FORM | changes | {"do": "plan"})
            assert (reply.status, b'id="plan"' in reply.body) == (200, False)


def test_a_created_task_is_live_at_once(portal: Portal) -> None:
    with portal.owner() as browser:
        reply = browser.send("/owner/new", FORM | {"name": "live", "do": "create"})
        assert (reply.status, reply.headers["location"]) == (303, "/owner/tasks/live?done=created")
        (view,) = [t for t in browser.get("/v1/tasks").json()["tasks"] if t["name"] == "live"]
        assert view["terms"] == Task.from_toml(task_toml(FORM | {"name": "live"})).terms.text
        assert browser.get("/tasks/live").status == 200
        assert "The task is created" in text_of(browser.get(reply.headers["location"]))
        again = browser.send("/owner/new", FORM | {"name": "live", "do": "create"})
        assert again.status == 200
        assert "there is a task 'live' already. Choose another name." in text_of(again)
    with portal.store() as store:
        action = store.owners.actions("live")[0]
        assert (action.owner, str(action.action), action.task) == ("ana", "created", "live")


def test_a_task_file_can_be_pasted(portal: Portal) -> None:
    text = TASK_TEMPLATE.format(name="pasted")
    with portal.owner() as browser:
        preview = browser.send("/owner/new", {"toml": text, "do": "preview"})
        assert terms_hash(Task.from_toml(text).terms.text) in text_of(preview)
        assert fields_of(preview)["toml"].strip() == text.strip()
        assert browser.send("/owner/new", {"toml": text, "do": "create"}).status == 303
        view = browser.get("/v1/tasks/pasted").json()
        assert view["terms"] == Task.from_toml(text).terms.text
        broken = TASK_TEMPLATE.format(name="broken").replace("count = 33", "count = 0")
        for wrong in ("", "name = ", broken, broken.replace("batch", "bach")):
            with pytest.raises(InvalidTask) as rejected:
                Task.from_toml(wrong)
            reply = browser.send("/owner/new", {"toml": wrong, "do": "create"})
            assert reply.status == 200
            assert wrong_inputs(reply) == {"toml": " ".join(str(rejected.value).split())}


def test_a_task_file_that_is_too_long(portal: Portal) -> None:
    """Either the rejection arrives, or the server hangs up on the flood; it never takes it in."""
    with portal.owner() as browser:
        try:
            status = browser.send("/owner/new", {"toml": "#" * 1_100_000}).status
        except OSError:
            status = 413
    assert status == 413


def test_no_privacy_needs_an_extra_word(portal: Portal) -> None:
    no_noise = {"privacy.mechanism": "laplace", "privacy.epsilon": "inf"}
    open_ = FORM | no_noise | {"name": "open-book", "do": "create"}
    starter = TASK_TEMPLATE.replace("epsilon = 4.0", 'epsilon = inf\nmechanism = "laplace"')
    pasted = {"toml": starter.format(name="open-file")}
    with portal.owner() as browser:
        for form in (open_, pasted | {"do": "create"}):
            reply = browser.send("/owner/new", form)
            assert reply.status == 200
            assert "Tick it, or choose a smaller ε." in text_of(reply)
            assert "not_private" not in fields_of(reply)
            shown = browser.send("/owner/new", form | {"not_private": "on", "do": "preview"})
            assert "THIS TASK IS NOT PRIVATE" in text_of(shown)
            assert browser.send("/owner/new", form | {"not_private": "on"}).status == 303
        for name in ("open-book", "open-file"):
            assert not browser.get(f"/v1/tasks/{name}").json()["private"]


def test_what_is_typed_is_text_everywhere(portal: Portal) -> None:
    fields = ("title", "objective", "sensors", "features.description", "target.description")
    labels = "\n".join(XSS + str(n) for n in range(2))
    hostile = FORM | dict.fromkeys(fields, XSS) | {"target.labels": labels, "name": "hostile"}
    everywhere = dict.fromkeys(FIELDS, XSS) | {"not_private": XSS, "do": XSS, "toml2": XSS}
    with portal.owner() as browser:
        pages = [
            browser.send("/owner/new", everywhere),
            browser.send("/owner/new", {"toml": XSS}),
            browser.send("/owner/new", {"toml": f'name = "a"\ntitle = {XSS!r}\n{XSS}'}),
            browser.send("/owner/new", hostile | {"do": "preview"}),
        ]
        assert browser.send("/owner/new", hostile | {"do": "create"}).status == 303
        addresses = ["/owner", "/owner/tasks/hostile", "/owner?q=" + XSS.replace(" ", "+"), "/"]
        pages += [browser.get(path.replace("<", "%3C").replace(">", "%3E").replace('"', "%22"))
                  for path in addresses]  # fmt: skip
        pages.append(browser.send("/owner/tasks/hostile/invites", {"uses": XSS}))
        pages.append(browser.send("/owner/tasks/hostile/state", {"state": XSS, "confirm": XSS}))
        pages.append(browser.sign_in(XSS[:60], XSS, next=XSS))
        pages.append(browser.sign_in(XSS, XSS, next=XSS))
        for page in pages:
            text = page.body.decode()
            assert "<script>alert" not in text
            assert "<img src=x" not in text
            policy = page.headers["content-security-policy"]
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy


def test_back_forward_and_reload_forget_nothing(portal: Portal) -> None:
    typed = FORM | {
        "privacy.epsilon": "0.5", "collection.batch": "7", "model.intercept": "on",
        "crowd-leaving": "0.3", "name": "drafted",
    }  # fmt: skip
    with portal.owner() as browser:
        address = browser.get("/owner/new").headers["content-location"]
        before = rows(portal.file, "tasks", "actions")
        preview = browser.send(address, typed | {"do": "preview"})
        forward = preview.headers["content-location"]
        assert forward == f"{address}&see=preview"
        for again in (preview, browser.get(forward)):
            assert "Preview: what participants will see" in text_of(again)
        back = browser.get(address)
        assert "Preview: what" not in text_of(back)
        for page in (preview, back):
            kept = fields_of(page)
            assert {key: kept.get(key, "") for key in typed} == {
                key: text.replace("\r\n", "\n") for key, text in typed.items()
            }
        assert back.body.count(b'autocomplete="off"') >= 2, "or browsers restore what was there"
        assert rows(portal.file, "tasks", "actions") == before
        other = fields_of(browser.get("/owner/new"))
        assert other["privacy.epsilon"] == "4", "another tab has a draft of its own"
        portal.add_owner("bo")
        with portal.store() as store:
            browser.cookies["crowdml"] = store.owners.open_session("bo")
            name = address.partition("draft=")[2]
            assert store.drafts.read(NAME, name) is not None, "every node finds it in the database"
            assert store.drafts.read("bo", name) is None
        assert fields_of(browser.get(address))["privacy.epsilon"] == "4"
    with portal.owner() as browser:
        assert browser.send(address, typed | {"do": "create"}).status == 303
        assert fields_of(browser.get(address))["title"] == "", "a draft that was used is gone"


def test_a_restart_forgets_no_form_and_offers_the_simulation_again(tmp_path: Path) -> None:
    """Forecasts are in the memory of a process, drafts in the database."""
    portal = Portal(tmp_path)
    create(portal.database)
    portal.add_owner()
    portal.start()
    with portal.owner() as browser:
        preview = browser.send("/owner/new", FORM | {"do": "preview"}).headers["content-location"]
        cookies = browser.cookies
    assert portal.stop() == 0, portal.output
    portal.start()
    with portal.browser() as browser:
        browser.cookies = cookies
        again = browser.get(preview)
    assert fields_of(again)["objective"] == FORM["objective"]
    assert BUTTON in text_of(again)
    assert portal.stop() == 0, portal.output


@pytest.mark.parametrize("language", ["en", "de"])
def test_an_expired_session_asks_to_sign_in_and_goes_on(portal: Portal, language: str) -> None:
    said = {"en": "Your session has ended.", "de": "Ihre Sitzung ist abgelaufen."}[language]
    typed = FORM | {"title": 'A "quoted" title', "privacy.epsilon": "0.5", "do": "preview"}
    with portal.owner() as browser:
        csrf = fields_of(browser.get("/owner"))["csrf"]
        address = browser.get("/owner/new").headers["content-location"]
        with portal.store() as store:
            store.owners.close_session(browser.token)
        here = {"Origin": portal.url, "Accept-Language": language}
        asked = browser.post(address, typed | {"csrf": csrf}, **here)
        assert (asked.status, said in text_of(asked)) == (403, True)
        assert f'action="{address}"' in unescape(asked.body.decode())
        form = fields_of(asked)
        assert form["title"] == typed["title"]
        wrong = browser.post(
            address, form | {"sign-in-name": NAME, "sign-in-password": "?"}, **here
        )
        assert (wrong.status, fields_of(wrong)["title"]) == (403, typed["title"])
        right = {"sign-in-name": NAME, "sign-in-password": PASSWORD}
        on = browser.post(address, fields_of(wrong) | right, **here)
        assert on.headers["content-location"] == f"{address}&see=preview"
        assert fields_of(on)["privacy.epsilon"] == "0.5"
        foreign = browser.post(address, form | right, Origin="https://evil.example")
        assert foreign.status == 403
    with portal.store() as store:
        assert not store.owners.actions("what-is-this-device-doing")


def test_an_empty_form_misses_only_what_is_needed(portal: Portal) -> None:
    """The name is made from the title, so that it need not be given."""
    with portal.owner() as browser:
        reply = browser.send("/owner/new", DEFAULTS | {"do": "create"})
        assert list(wrong_inputs(reply)) == [
            "title", "objective", "owner", "contact", "purpose", "sensors",
        ]  # fmt: skip
        unnamed = browser.send("/owner/new", FORM | {"title": "走る", "name": "", "do": "create"})
        assert list(wrong_inputs(unnamed)) == ["name"]
        assert "Needed if ε is above 20" in text_of(reply)
        german: dict[str, str] = {"Accept-Language": "de"}
        assert "Nötig, wenn ε über 20 liegt" in text_of(browser.get("/owner/new", **german))
