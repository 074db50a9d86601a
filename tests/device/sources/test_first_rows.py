"""Test the look at a source's rows before anything is spent on them, in both devices."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from crowdml import one_file_device as standalone
from crowdml.device.sources import SampleForm, feed
from crowdml.device.sources.first_rows import doubt_about
from crowdml.device.sources.mqtt.broker import TopicMessage
from crowdml.device.sources.mqtt.topic import _SampleReader
from crowdml.errors import DoubtfulRows
from crowdml.protocol import Features
from tests.device.fakes import MemoryTransport, join
from tests.support.servers import make_direction_task, make_task

ROOM: dict[str, Any] = {
    "count": 2, "names": ["light", "warmth"], "center": [300.0, 21.0], "scale": [250.0, 3.0],
    "length": 4.0,
}  # fmt: skip
PLAIN: dict[str, Any] = {"count": 2}
GOOD = [[300.0 + 10 * k, 21.0 - k / 10] for k in range(20)]
KELVIN = [[light, warmth + 273.15] for light, warmth in GOOD]
TURNED = [[warmth, light] for light, warmth in GOOD]
UNITS = "rows cannot be in the task's units"

CASES = {
    "good rows": (ROOM, GOOD, ""),
    "one row": (ROOM, GOOD[:1], ""),
    "no rows": (ROOM, [], ""),
    "one wrong row": (ROOM, KELVIN[:1], f"1 of the first 1 {UNITS}: 'warmth' is 294.15, usual is"),
    "other units": (ROOM, KELVIN, f"20 of the first 20 {UNITS}: 'warmth' is 294.15, usual is"),
    "another order": (ROOM, TURNED, f"20 of the first 20 {UNITS}: 'warmth' is 300, usual is 21 ±"),
    "half of them": (ROOM, GOOD[:10] + KELVIN[:10], ""),
    "most of them": (ROOM, GOOD[:9] + KELVIN[:11], f"11 of the first 20 {UNITS}"),
    "too long": (PLAIN, [[3.0, k / 10] for k in range(9)], "longer than 1, and would be shortened"),
    "of length 1": (PLAIN, [[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]], ""),
    "the same": (ROOM, [GOOD[0]] * 19 + GOOD[1:2], "19 of the first 20 rows have the same"),
    "the same after all": (PLAIN, [[0.0, 0.0]] * 10, "10 of the first 10 rows have the same"),
    "few, the same": (PLAIN, [[0.1, 0.2]] * 9, ""),
    "often the same": (ROOM, [GOOD[0]] * 9 + GOOD[:11], ""),
    "missing": (ROOM | {"missing": "center"}, [[None, 21.0 + k / 9] for k in range(12)], ""),
}  # fmt: skip


@pytest.mark.parametrize(("constants", "rows", "said"), CASES.values(), ids=CASES)
def test_both_devices_doubt_the_same_rows(
    constants: dict[str, Any], rows: list[Any], said: str
) -> None:
    given: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in constants.items()
    }
    here = doubt_about(Features(**given), 2, rows) or ""
    document = json.loads(make_direction_task().terms.text)
    document["features"] |= constants
    alone = standalone.doubt_about(standalone.Terms(json.dumps(document), "activity"), rows)
    assert said in here
    assert bool(said) == bool(here)
    assert alone.replace("'1'", "'x0'") == here


CSV = "light,warmth,y\n" + "".join(f"{a},{b},walk\n" for a, b in KELVIN[:4])
TASK = make_task(**{f"features__{name}": value for name, value in ROOM.items()})


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_kept_or_spent_unless_somebody_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    file, asked = tmp_path / "samples.csv", list[str]()
    file.write_text(CSV)
    transport = MemoryTransport(TASK)
    with join(tmp_path / "device", transport) as device:
        device.add([300.0, 21.0], "run")
        for answer in (False, True):
            if stream:
                monkeypatch.setattr("sys.stdin", io.StringIO(CSV))

            def on_doubt(said: str, answer: bool = answer) -> bool:
                asked.append(said)
                return answer

            source = "-" if stream else str(file)
            if answer:
                counts = feed(device, source, wait=0.0, on_doubt=on_doubt)
                assert (counts.kept, counts.answered) == (4, 1)
            else:
                with pytest.raises(DoubtfulRows, match=r"Nothing was spent on them\. Check"):
                    feed(device, source, wait=0.0, on_doubt=on_doubt)
                assert (device.n_samples, device.ledger.events) == (1, ()), "what was there before"
                assert (transport.checkouts, transport.bodies) == (0, [])
        assert len(asked) == 2
        # Once a file was taken, what is added to it is taken without a question.
        if not stream:
            with file.open("a") as lines:
                lines.write("301,295,walk\n")
            assert feed(device, str(file), wait=0.0).kept == 1


def test_a_topic_is_looked_at_before_its_first_check_in(tmp_path: Path) -> None:
    transport = MemoryTransport(TASK)
    with join(tmp_path / "device", transport) as device:
        form = SampleForm.of(TASK.terms.features)
        messages = [
            TopicMessage(k, False, json.dumps({"light": a, "warmth": b, "y": "walk"}).encode())
            for k, (a, b) in enumerate(KELVIN, 1)
        ]
        reader = _SampleReader(device, "client", form, lambda error: None)
        assert reader.take(messages[0])
        assert reader.take(messages[1])
        with pytest.raises(DoubtfulRows):
            reader.take(messages[2])
        assert (device.n_samples, transport.bodies) == (0, [])
        reader = _SampleReader(device, "another", form, lambda error: None, lambda said: True)
        assert all(map(reader.take, messages[:3]))
        assert len(transport.bodies) == 1
