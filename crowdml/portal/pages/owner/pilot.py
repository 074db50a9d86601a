"""Fill in the form from a pilot, which is read in a separate process and never stored."""

import tomllib
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.learnt import read_start
from crowdml.phrase import Phrase, read_phrase
from crowdml.portal.pages.context import portal_of, service_of
from crowdml.portal.pages.hardships import CrowdHardships
from crowdml.portal.pages.owner.field import sentence
from crowdml.portal.pages.owner.fields import FIELDS
from crowdml.portal.pages.owner.form_parsing import LARGEST_FILE, FormFields
from crowdml.portal.words import PilotPlan, say
from crowdml.protocol import Start, set_fields

FILE_FIELD, START_FIELD, PLAN_FIELD = "pilot", "start", "pilot-plan"
FINDINGS_FIELD, ERROR_FIELD = "pilot-found", "pilot-wrong"
"""Fields of a draft, never of a form: what was found in the newest file, or why it was not read."""

WORDS_FIELD = "model.pilot"
COMMAND_OPTIONS = {
    "pilot-label": "--label",
    "pilot-person": "--person",
    "pilot-devices": "--devices",
    "pilot-samples": "--samples",
}
WRITTEN_BY_PEOPLE = {"name", "title", "objective", "owner", "contact", "purpose", "sensors"}
LARGEST_START = 500_000
"""The most bytes of a start in a form, as text."""


class Pilot(NamedTuple):
    """Hold what a form keeps of a pilot: a start, and its plan; never a row of the file.

    Args:
        start: The start.
        text: The start as a text field of the form.
        words: Where the samples come from, in the owner's words.
        plan: What a crowd adds, if the owner asked for it.
        found: Sentences about the file.
    """

    start: Start
    text: str
    words: str
    plan: PilotPlan | None = None
    found: tuple[str, ...] = ()

    @classmethod
    def of(cls, posted: FormFields) -> "Pilot | None":
        """Return the pilot in a form; `InvalidTask` if its text is not a start."""
        text = posted.get(START_FIELD, "")
        if not text:
            return None
        try:
            start = read_start(b64decode(text[:LARGEST_START], validate=True), "the start")
        except (ValueError, InvalidInput) as error:
            must = Phrase("must be the start that the form had. Upload the file again")
            raise InvalidTask(Mistake(FILE_FIELD, must)) from error
        plan = None
        if posted.get(PLAN_FIELD):
            try:
                plan = msgspec.json.decode(posted[PLAN_FIELD], type=PilotPlan)
            except msgspec.DecodeError:
                plan = None
        found = _found(posted.get(FINDINGS_FIELD))
        return cls(start, text, posted.get(WORDS_FIELD, "").strip(), plan, found)

    @property
    def plan_text(self) -> str:
        return msgspec.json.encode(self.plan).decode() if self.plan else ""

    @property
    def sentences(self) -> list[str]:
        return [*self.found, *(self.plan.sentences if self.plan else ())]

    def named_in(self, text: str, name: str) -> str:
        """Write the start's name and hash into the task file."""
        start = f"{name or 'task'}.start.npz"
        return set_fields(text, {"model.start": start, WORDS_FIELD: self.words})


def with_findings(posted: FormFields, before: FormFields | None) -> FormFields:
    """Add the sentences about the pilot to the form, which carries only the start."""
    if not before or FINDINGS_FIELD not in before:
        return posted
    same = before.get(START_FIELD) == posted.get(START_FIELD)
    return posted | {FINDINGS_FIELD: before[FINDINGS_FIELD]} if same else posted


async def fill_in(request: Request, posted: FormFields) -> FormFields:
    """Fill in the form from the uploaded file, or note in the form why that failed."""
    try:
        return posted | await _filled_in(request, posted)
    except InvalidTask as error:
        return posted | {ERROR_FIELD: " ".join(sentence(mistake) for mistake in error.mistakes)}


async def _filled_in(request: Request, posted: FormFields) -> FormFields:
    data: bytes = request.state.file
    if not 0 < len(data) <= LARGEST_FILE:
        must = Phrase("must be a file of at most {n} MB", n=LARGEST_FILE // 10**6)
        found = Phrase("{n} bytes", n=len(data)) if data else Phrase("none")
        raise InvalidTask(Mistake(FILE_FIELD, must, found, Phrase("Choose a smaller file.")))
    given = {
        option: posted[key].strip() for key, option in COMMAND_OPTIONS.items() if key in posted
    }
    given |= _hardships(posted, given)
    options = [f"{option}={text}" for option, text in given.items() if text]
    drafted = await portal_of(request).planner.draft(data, options, service_of(request).closing)
    if isinstance(drafted, str):
        raise InvalidTask(Mistake(FILE_FIELD, Phrase("cannot be read: {why}", why=drafted)))
    text = b64encode(drafted.start).decode()
    if len(text) > LARGEST_START:
        must = Phrase("must make a start of at most {n} KB", n=LARGEST_START // 1000)
        remedy = Phrase("Use `crowdml task new --pilot` on a machine of your own.")
        raise InvalidTask(Mistake(FILE_FIELD, must, Phrase("{n} KB", n=len(text) // 1000), remedy))
    kept = {START_FIELD: text, FINDINGS_FIELD: msgspec.json.encode(drafted.findings).decode()}
    kept[PLAN_FIELD] = msgspec.json.encode(drafted.plan).decode() if drafted.plan else ""
    return _values(posted, drafted.task) | kept


def _hardships(posted: FormFields, given: dict[str, str]) -> dict[str, str]:
    """Return the options about the crowd's hardships, if the form gives the crowd's size."""
    devices, samples = given.get("--devices", ""), given.get("--samples", "")
    if not (devices.isdecimal() and samples.isdecimal()):
        return {}
    return CrowdHardships.of(posted).options(int(devices) * int(samples), labels=True)


def _found(findings: str | None) -> tuple[str, ...]:
    """Return sentences about what was found in the pilot."""
    if findings is None:
        return ()
    public = say(
        "The start is public once the task is created. It says something about the people of the "
        "pilot, whom this task’s promise does not cover: use only data that you may use openly."
    )
    phrases = [read_phrase(each) for each in msgspec.json.decode(findings)]
    return (*(say(each) for each in phrases if each is not None), public)


def _values(posted: FormFields, text: str) -> FormFields:
    """Convert the draft to fields of the form; keep what the owner has written."""
    said = {key: _written(value) for key, value in _flat(tomllib.loads(text)).items()}
    filled = {key: said.get(key, "") for key in FIELDS if key not in WRITTEN_BY_PEOPLE}
    title = posted.get("title", "").strip() or said["title"]
    return filled | {"title": title}


def _flat(document: dict[str, Any], start: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in document.items():
        flat |= _flat(value, f"{start}{key}.") if isinstance(value, dict) else {start + key: value}
    return flat


def _written(value: Any) -> str:
    """Write a value as the text of a form's field.

    Three decimals get a fourth, because some languages read 1.125 as a thousand.

    >>> _written(True), _written(False), _written([1.5, 2, 1.125]), _written("a")
    ('on', '', '1.5\\n2\\n1.1250', 'a')
    """
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, list):
        return "\n".join(map(_written, value))
    text = str(value)
    return f"{text}0" if isinstance(value, float) and len(text.partition(".")[2]) == 3 else text
