"""Follow CONTRIBUTING.md to add a mechanism, and check that no other place needs to know it.

Python follows the steps in this process and in a live server's, JavaScript in a folder of links
with one more module.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tests.support.added_mechanism as contributed
from crowdml import one_file_device as standalone
from crowdml.checks import check_mechanism
from crowdml.checks.audit import audit_mechanism
from crowdml.checks.pairs import hardest_pairs
from crowdml.checks.programs import JavaScriptProgram
from crowdml.device import Device, Outcome
from crowdml.errors import InvalidTask
from crowdml.portal import create_portal_app
from crowdml.portal.words import language
from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, Task, Terms, openapi, read_event
from crowdml.server import Settings, Store
from crowdml.server.http.public_address import PublicAddress
from crowdml.simulation import Crowd, ExpectedCrowd, Learning, Plan, advise, simulate
from crowdml.simulation.datasets.synthetic import synthetic
from tests.portal.call_app import call
from tests.support.contributing_steps import ROOT, overlay, steps
from tests.support.servers import FaultyServer, create, make_task, recompute

NEW, SIGN = contributed.NEW, contributed.SIGN
TASK: dict[str, Any] = {
    "privacy__mechanism": NEW, "privacy__epsilon": 8.0, "collection__checkins": 2,
    "features__count": 3, "collection__batch": 4,
}  # fmt: skip


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Follow the steps in Python and German in this process; the end of a test takes them back."""
    contributed.register()
    german = contributed.GERMAN
    path = Path(german.file).relative_to("crowdml/portal/languages")
    text = german.done((ROOT / german.file).read_text(), "")
    folder = overlay(tmp_path / "languages", language.FOLDER, {str(path): text})
    monkeypatch.setattr(language, "FOLDER", folder)
    language.catalogue.cache_clear()
    language._spoken.cache_clear()
    yield
    del MECHANISMS[NEW]
    language.catalogue.cache_clear()
    language._spoken.cache_clear()


class Adding(FaultyServer):
    """Run a server whose process first adds the mechanism."""

    @property
    def begin(self) -> Callable[[], None]:
        return contributed.register


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """Return the browser's device with one more module."""
    module, registry = contributed.MODULE, contributed.REGISTRY
    folder = Path("crowdml/web")
    changed = {
        module.file: module.code,
        registry.file: registry.done((ROOT / registry.file).read_text(), "MECHANISMS"),
    }
    files = {str(Path(file).relative_to(folder)): text for file, text in changed.items()}
    return overlay(tmp_path / "web", ROOT / folder, files)


def test_at_most_ten_files_are_touched() -> None:
    """Count the steps' files, two documents, and the tests of its promise and its audit."""
    files = {step.file for step in steps("Add a mechanism")}
    documents = {"docs/tasks.md", "docs/protocol.md"}
    tests = {"tests/privacy/test_sign.py", "tests/checks/test_audit.py"}
    assert len(files | documents | tests) == 10


def test_before_it_is_registered_nobody_takes_it() -> None:
    must = "must be direction, gaussian or laplace, found"
    with pytest.raises(InvalidTask, match=f'privacy.mechanism {must} "{NEW}"'):
        make_task(**TASK)


@pytest.mark.usefixtures("added")
def test_a_task_of_it() -> None:
    """Check the task's file, its terms, its promise, and what is rejected."""
    terms = make_task(**TASK).terms
    assert Terms.parse(terms.text) == terms
    assert (terms.kind, terms.loss.total) == (SIGN, 4.0)
    said = [str(sentence) for sentence in terms.promise.what_leaves]
    assert "It sends one sign: which way one number of the model should move." in said
    assert terms.promise.epsilon_per_person == 8.0
    assert "SignCheckin" in openapi("0")["components"]["schemas"]
    with pytest.raises(InvalidTask, match="is for the mechanism direction, not for sign"):
        make_task(**TASK | {"collection__evaluators": 0.1})
    wrong = json.loads(terms.text)
    wrong["collection"]["heldout"], wrong["model"]["clip"] = 0.1, 1.0
    with pytest.raises(InvalidTask) as rejected:
        Terms.parse(json.dumps(wrong))
    assert {m.field for m in rejected.value.mistakes} == {"collection.heldout", "model.clip"}
    with pytest.raises(standalone.DeviceError, match="mechanism"):
        standalone.Terms(terms.text, terms.task)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_it_keeps_every_promise_but_privacy(epsilon: float) -> None:
    """Run `check_mechanism`, which fails for a correct mechanism with a probability below 1e-7."""
    terms = make_task(**TASK | {"privacy__epsilon": epsilon}).terms
    model = terms.make_model()
    check_mechanism(terms.mechanism(), model.size, model.n_classes, batch=4, buffer=40)


@pytest.mark.usefixtures("added")
def test_it_is_audited_in_both_languages(web: Path) -> None:
    """Audit the mechanism in both languages.

    At 6,000 check-ins, more than the claim is found with a probability of 1e-9 each. For less than
    0.3 of the claim, a sign of probability 0.337 must be seen 2,056 times or more in 5,400, instead
    of 1,818 times: seven deviations, 6e-12 each.
    """
    for program in (None, JavaScriptProgram(web)):
        audit = audit_mechanism(NEW, epsilon=1.0, trials=6000, program=program)
        assert audit.passed, audit
        assert audit.parts[NEW].share > 0.3
    (pair,) = hardest_pairs(NEW, 1.0)
    assert pair.event.unit is Unit.CHECKIN


@pytest.mark.usefixtures("added")
def test_it_is_simulated_and_planned() -> None:
    """Simulate it without noise on an easy task, in plain NumPy, with a warning about that."""
    data = synthetic(2000, 3, ("a", "b"), "easy", np.random.default_rng(0))
    plans = [
        Plan(Crowd(devices=200, batch=2), Learning(mechanism=NEW, epsilon=e)) for e in (np.inf, 40)
    ]
    with pytest.warns(UserWarning, match=f"{NEW} is not compiled and runs in plain NumPy"):
        noiseless, noisy = simulate(data, plans, trials=1)
    assert noiseless.final < 0.1
    assert noisy.epsilon_per_person == pytest.approx(40)
    with pytest.warns(UserWarning, match="is not compiled"):
        advice = advise(make_task(**TASK), ExpectedCrowd(50, 8), mechanisms=[NEW], trials=1)
    assert {option.mechanism for option in advice.options} == {NEW}
    assert {option.protects for option in advice.options} == {"person"}


async def get(app: Any, path: str, tongue: str, cookie: str = "") -> str:
    more = {"accept-language": tongue, "cookie": f"crowdml={cookie}"}
    status, body = await call(app, "GET", path, more=more)
    assert status == 200, body
    return unescape(body.decode())


@pytest.mark.usefixtures("added")
def test_the_pages_of_it(tmp_path: Path) -> None:
    """Show consent, the worked example, the picture and the owner's form, in both languages."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'crowdml.db'}")
    with closing(Store(settings.database)) as store:
        store.create_task(make_task("signs", **TASK))
        store.owners.add("ana", "correct horse battery")
        cookie = store.owners.open_session("ana")
    app = create_portal_app(settings, PublicAddress())

    async def visit() -> None:
        async with app.router.lifespan_context(app):
            for tongue, sends, about in (
                ("en", "It sends one sign:", "The sign of number "),
                ("de", "Es sendet ein Vorzeichen:", "Das Vorzeichen von Zahl "),
            ):
                assert await get(app, "/join/signs", tongue)
                page = await get(app, "/tasks/signs", tongue)
                assert sends in page
                assert about in page
                picture = await get(app, "/tasks/signs/hiding.svg?epsilon=4", tongue)
                assert "<svg" in picture
                with language.use_language(tongue):
                    words = language.say(SIGN.words)
                assert words in await get(app, "/owner/new?draft=0123456789abcdef", tongue, cookie)

    asyncio.run(visit())


@pytest.mark.usefixtures("added")
def test_a_live_crowd_of_it(tmp_path: Path) -> None:
    """Let ten real devices send what they agreed to, over HTTPS; the server must learn."""
    server = Adding(tmp_path / "server", "self-signed")
    server.folder.mkdir()
    create(server.database, make_task("signs", **TASK))
    with ExitStack() as stack:
        stack.callback(server.kill)
        server.start()
        devices = [
            stack.enter_context(
                Device.join(
                    server.url, "signs", file=tmp_path / f"device-{i}",
                    fingerprint=server.fingerprint,
                )
            )
            for i in range(10)
        ]  # fmt: skip
        labels = devices[0].terms.target.labels
        outcomes = [[d.add(np.eye(3)[i % 3], labels[i % 3]) for i in range(8)] for d in devices]
        assert [each.count(Outcome.CHECKED_IN) for each in outcomes] == [2] * 10
        for device in devices:
            assert device.ledger.epsilon_per_person == pytest.approx(8.0)
            assert {str(event.phrase) for event in device.ledger.events} == {"one sign"}
    fold = recompute(server.database, "signs")
    assert fold.version == 20
    assert np.count_nonzero(fold.w)


@pytest.mark.usefixtures("added")
def test_a_ledger_reads_its_events() -> None:
    event = make_task(**TASK).terms.event(4)
    assert read_event(msgspec.msgpack.encode(event)) == event
    assert Task.from_json(msgspec.json.encode(make_task(**TASK))) == make_task(**TASK)
