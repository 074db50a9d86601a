"""What the planner makes of a task: a forecast, or a clear reason why there is none."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from msgspec.structs import replace

from crowdml.portal.pages.hardships import NO_HARDSHIPS, CrowdHardships
from crowdml.portal.pages.planner import Forecast, Planner
from crowdml.portal.words.expectation import Expectation, PlannedCost, PlannedOption
from crowdml.portal.words.language import use_language
from crowdml.protocol import Task
from tests.protocol.files import STEPS
from tests.support.servers import PATIENCE

TASK = STEPS.replace("batch = 7", "batch = 10") + "[stop]\nupdates = 80\n"
LABELS = 'labels = ["a", "b"]'
FOUND = """
import json, os, sys
option = {"mechanism": " ".join(sys.argv[1:]), "batch": 10, "checkins": 1}
option |= {"error": 0.25, "low": 0.2, "high": 0.3}
print(json.dumps({"own": option, "own_verdict": "something", "better": None,
    "guess_error": 0.5, "central_error": 0.1,
    "devices": os.getpid(), "simulated_devices": 1}))
"""
"""A stand-in for `crowdml plan` that prints the options it was given."""


@pytest.fixture(autouse=True)
def _as_important_as_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run simulations at normal priority; on a busy machine they would take minutes."""
    monkeypatch.setattr(os, "setpriority", lambda *given: None)


def plan(planner: Planner, text: str = TASK) -> Forecast:
    return asyncio.run(planner.plan(Task.from_toml(text), text, asyncio.Event()))


def running(script: str, **settings: Any) -> Planner:
    """Return a planner that runs this script in place of `crowdml plan`."""
    return Planner((sys.executable, "-c", script), **settings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"batch = 10": "batch = 5\ncheckins = 4"},
            "Simulated with 4 check-ins of 5 samples each from each device, 20 devices reach",
        ),
        (
            {LABELS: "scale = 70.0", "softmax": 'huber"\ndelta = 70.0\ntolerance = 70.0#"'},
            "and with all data in one place it would be 0\xa0%.",
        ),
    ],
    ids=["labels", "a number"],
)
def test_what_crowdml_plan_prints_is_understood(changes: dict[str, str], said: str) -> None:
    """Which tasks `crowdml plan` accepts is tested with the command."""
    text = TASK
    for old, new in changes.items():
        text = text.replace(old, new)
    forecast = plan(Planner(seconds=2 * PATIENCE), text)
    assert forecast.expected, forecast
    assert forecast.words.startswith("This crowd ")
    assert said in forecast.words


def test_the_crowd_follows_from_the_check_ins() -> None:
    text = TASK.replace("batch = 10", "batch = 4\ncheckins = 3")

    def asked(updates: int) -> str:
        expected = plan(running(FOUND), text.replace("80", str(updates))).expected
        assert expected
        return expected.own.mechanism

    assert asked(80) == "--devices 27 --samples 12"
    assert asked(1) == "--devices 1 --samples 12"


def test_what_is_clearly_better_is_recommended_in_words() -> None:
    own, best = (
        PlannedOption("laplace", 10, 1, 0.32, 0.3, 0.34),
        PlannedOption("direction", 5, 2, 0.2, 0.1, 0.3),
    )
    expected = Expectation(own, "hardly", best, 0.5, 0.1, simulated_devices=50, devices=80)
    assert expected.words.startswith("This crowd will hardly learn. Simulated with one check-in of")
    assert expected.words.endswith(
        "and with all data in one place it would be 10\xa0%. All 80 should do better."
    )
    assert "lied" not in expected.words, "older plans do not say it"
    lied = replace(expected, own=replace(own, error_with_liars=0.6))
    assert "If one device in ten lied, the error would be 60.0\xa0%." in lied.words
    with use_language("de"):
        assert "Wenn eines von zehn Geräten löge, wäre der Fehler 60,0\xa0%." in lied.words
        assert best.words == "je Gerät 2 Beiträge, 5 Messungen je Beitrag"
    for verdict, words in {"well": "learn well", "something": "learn something"}.items():
        assert words in replace(expected, own_verdict=verdict).words


def test_what_makes_it_hard_is_simulated_and_its_cost_is_said() -> None:
    hard = CrowdHardships.of({"crowd-leaving": "0.3", "crowd-delay": "0.1", "crowd-skew": "odd"})
    assert hard == ("0.3", "0.1", "")
    planner, task = running(FOUND), Task.from_toml(TASK)
    asked = [asyncio.run(planner.plan(task, TASK, asyncio.Event(), each)).expected for each in
             (hard, CrowdHardships(skew="1"), NO_HARDSHIPS)]  # fmt: skip
    words = [each.own.mechanism for each in asked if each]
    crowd = "--devices 80 --samples 10"
    assert words == [f"{crowd} --leaving 0.3 --delay 80", f"{crowd} --skew 1", crowd]
    costs = [PlannedCost(name, 0.125) for name in ("leaving", "delay", "skew", "spread")]
    assert asked[0]
    assert replace(asked[0], costs=costs).words.count("the error would be 12.5\xa0%.") == 4
    with use_language("de"):
        assert costs[0].words == "Wenn kein Gerät vorzeitig ausstiege, wäre der Fehler 12,5\xa0%."


def test_without_the_simulator_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = "raise ModuleNotFoundError('No module', name='joblib')"
    (tmp_path / "joblib.py").write_text(absent)
    monkeypatch.syspath_prepend(tmp_path)
    words = "It cannot be simulated here: this command needs joblib, which is not installed. "
    assert plan(Planner(seconds=PATIENCE)) == Forecast(
        why=words + "Run: pip install 'crowdml[sim]'"
    )


def test_what_breaks_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    forecast = plan(running("import sys; sys.exit('out of luck')"))
    assert (bool(forecast.expected), "log says why" in forecast.words) == (False, True)
    assert "out of luck" in caplog.text
    assert "log says why" in plan(Planner(("/there/is/no/such/program",))).words


def test_a_simulation_that_dies_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """In the server's own event loop, where nothing may be written to a process that is gone."""

    async def ask() -> list[Forecast]:
        planner = Planner(("/bin/sh", "-c", "kill -9 $$"))
        task = Task.from_toml(TASK)
        return [await planner.plan(task, TASK, asyncio.Event()) for _ in range(10)]

    assert all("log says why" in forecast.words for forecast in uvloop.run(ask()))
    assert caplog.text.count("a simulation ended with -9") == 10


def test_a_simulation_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    before = children()
    planner = running(waiting_in(tmp_path), seconds=0.5)
    assert "took longer than 0.5 seconds" in plan(planner).words
    assert children() <= before


def test_a_model_that_is_too_large_is_not_tried() -> None:
    words = plan(running("0/0"), TASK.replace("count = 5", "count = 2000")).words
    assert "2,000 features is too large to simulate here" in words


def test_it_ends_with_the_server(tmp_path: Path) -> None:
    async def end() -> list[Forecast]:
        planner, closing = running(waiting_in(tmp_path)), asyncio.Event()
        texts = [TASK, TASK + "# other"]
        asked = [
            asyncio.create_task(planner.plan(Task.from_toml(text), text, closing)) for text in texts
        ]
        while not list(tmp_path.iterdir()):
            await asyncio.sleep(0.01)
        closing.set()
        return await asyncio.wait_for(asyncio.gather(*asked), PATIENCE)

    assert [forecast.words for forecast in asyncio.run(end())] == 2 * ["The server is ending."]
    assert gone(tmp_path)


def test_one_at_a_time_few_in_the_queue_and_each_once(tmp_path: Path) -> None:
    busy = f"import os, time; busy = {str(tmp_path / 'busy')!r}"
    script = f"{busy}; os.mkdir(busy); time.sleep(0.1); os.rmdir(busy){FOUND}"

    async def ask() -> list[Forecast]:
        planner = running(script, most_waiting=3)
        texts = [TASK, TASK, *(f"{TASK}# {number}" for number in range(4))]
        forecasts = [planner.plan(Task.from_toml(text), text, asyncio.Event()) for text in texts]
        asked = await asyncio.gather(*forecasts)
        return [*asked, await planner.plan(Task.from_toml(TASK), TASK, asyncio.Event())]

    found = asyncio.run(ask())
    assert [bool(forecast.expected) for forecast in found] == 4 * [True] + 2 * [False] + [True]
    assert found[0] == found[1] == found[-1]
    assert len({forecast.words for forecast in found[:4]}) == 3
    assert "Try again in a minute" in found[4].words


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    flag = f"import os; flag = {str(tmp_path / 'failed')!r}"
    abort = "if not os.path.exists(flag):\n    os.mkdir(flag)\n    os.abort()"
    planner = running(f"{flag}\n{abort}{FOUND}")

    async def twice() -> list[bool]:
        return [
            bool((await planner.plan(Task.from_toml(TASK), TASK, asyncio.Event())).expected)
            for _ in range(2)
        ]

    assert asyncio.run(twice()) == [False, True]


def waiting_in(folder: Path) -> str:
    """Return a program that writes its process id as a file's name, and waits."""
    return f"""if True:
        import os, pathlib, time
        (pathlib.Path({str(folder)!r}) / str(os.getpid())).touch()
        time.sleep(600)"""


def children() -> set[str]:
    """Return the ids of this process's children that it has not waited for."""
    parent = f"PPid:\t{os.getpid()}\n"
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has just ended
            if parent in status.read_text():
                found.add(status.parent.name)
    return found


def gone(folder: Path) -> bool:
    """Return whether every recorded process has ended and was waited for."""
    seen = [int(file.name) for file in folder.iterdir()]
    return bool(seen) and not any(Path(f"/proc/{pid}").exists() for pid in seen)
