"""Compute the outputs of the vectors with the package."""

import base64
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from crowdml.device import (
    RightCount,
    describe_contribution,
    describe_personal_accuracy,
    shares_over_time,
)
from crowdml.device.agreement import require_successor
from crowdml.device.contribution import PastError
from crowdml.device.enrolment import default_limits
from crowdml.device.sources import SampleForm
from crowdml.device.sources.sensing import Sensing
from crowdml.device.targets import target_of
from crowdml.errors import InvalidInput, InvalidSample, LimitReached, NotPrivate
from crowdml.models import MODELS, Minibatch, Model
from crowdml.phrase import Phrase
from crowdml.portal.words.language import numbers as language_numbers
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    CheckinEvent,
    CheckinKey,
    Choice,
    Codebook,
    DirectionEvent,
    DirectionMechanism,
    Ledger,
    Limits,
    Loss,
    MinibatchPart,
    NoiseEvent,
    NoiseLevels,
    NoiseMechanism,
    Release,
    Role,
    Roles,
    bound_features,
    check_target,
    choose_grid,
    quantize,
    sensitivity_steps,
)
from crowdml.privacy.direction.codebook import in_whole_numbers
from crowdml.protocol import (
    Checkout,
    Estimate,
    Features,
    Promise,
    Sensor,
    State,
    Statistics,
    Task,
    Terms,
    encode_parameters,
    terms_hash,
)
from crowdml.protocol.numbers_in_words import (
    error_in_words,
    estimate_in_words,
    percent_sure,
    probability_in_words,
    significant,
)
from crowdml.protocol.wire.messages import checkin_type
from crowdml.types import Array, Flags, Ints

__all__ = [
    "Case",
    "adversaries",
    "agreements",
    "checkouts",
    "choice",
    "codebooks",
    "features",
    "gradients",
    "grid",
    "labels",
    "ledger",
    "messages",
    "noisy",
    "numbers",
    "numbers_in_words",
    "promise",
    "quantisation",
    "results",
    "roles",
    "rounding",
    "sensing",
    "sensitivity",
    "successors",
    "terms",
    "zcdp",
]

Case = dict[str, Any]

NO_STATISTICS = Statistics(
    state=State.RUNNING, version=0, devices=0, active_devices=0, samples=None, error=None,
    labels=(), staleness_mean=0.0, staleness_max=0, checkins_per_minute=0.0,
    epsilon_per_sample=None, epsilon_per_checkin=None, epsilon_per_person=None, max_updates=9,
    target_error=None, error_text="", reports=0,
)  # fmt: skip


def grid(case: Case) -> Case:
    k = choose_grid(case["clip"], case["largest"], case["n"], float(case["strength"]))
    return {"grid": k}


def sensitivity(case: Case) -> Case:
    return {"steps": sensitivity_steps(case["clip"], case["n"], case["grid"], case["rounding"])}


def quantisation(case: Case) -> Case:
    return {"integers": quantize(np.array(case["values"]), case["grid"]).tolist()}


def features(case: Case) -> Case:
    made = msgspec.convert(case.get("features", {"count": len(case["x"])}), Features)
    try:
        x = made.scaled(made.values(case["x"]))
        return {"bounded": bound_features(x, len(x), case["norm"]).tolist()}
    except InvalidSample:
        return {"bounded": None}


def labels(case: Case) -> Case:
    """Read labels from a JSON object, from a cell of CSV where it is a text, and from a program."""
    names, y = tuple(case["labels"]), json.loads(case["written"])
    lines = [f'{{"x": [0.5], "y": {case["written"]}}}']
    found = [next(SampleForm().read_json_lines(lines, names))]
    if isinstance(y, str):
        found.append(next(SampleForm().read_csv([f"0.5,{y}"], names)))
    answers = [sample if isinstance(sample, InvalidSample) else sample[1] for sample in found]
    if names:
        answers.append(y)
    (target,) = {_target(answer, names) for answer in answers}
    return {"target": target}


def _target(answer: object, names: tuple[str, ...]) -> float | None:
    try:
        return check_target(target_of(answer, names) if names else answer, len(names))
    except InvalidSample:
        return None


def gradients(case: Case) -> Case:
    model = _model(case)
    w, x, y = _arrays(case)
    return {
        "predictions": model.predict(w, x).tolist(),
        "mistakes": model.mistakes(w, x, y).tolist(),
        "gradients": model.gradients(w, x, y).tolist(),
        "bound": _number(model.bound(case["norm"])),
        "mean": model.mean_gradient(w, x, y, case["clip"], case["norm"]).tolist(),
    }


def zcdp(case: Case) -> Case:
    loss = Loss(rho=case["rho"], delta=case["delta"])
    return {"epsilon": loss.total, "bound": loss.bound}


def codebooks(case: Case) -> Case:
    place = CheckinKey(case["terms_sha256"], case["device"], case["number"])
    book = Codebook(case["size"], place)
    return {
        "codewords": [book.codeword(j).tolist() for j in case["which"]],
        "scores": book.scores(np.array(case["u"], dtype=float), case["directions"]).tolist(),
    }


def rounding(case: Case) -> Case:
    whole, length = in_whole_numbers(np.array(case["u"], dtype=float))
    return {"whole": whole.astype(int).tolist(), "length": length}


def adversaries(case: Case) -> Case:
    w, _, y = _arrays(case)
    x = np.array([bound_features(row, case["n_features"], 2) for row in case["x"]])
    g = _model(case).mean_gradient(w, x, y, math.inf, 2)
    whole, _ = in_whole_numbers(g + case["regularization"] * w)
    return {"whole": whole.astype(int).tolist()}


def agreements(case: Case) -> Case:
    try:
        agreed = Terms.parse(case["terms"])
    except InvalidInput:
        return {"accepted": False}
    limits = default_limits(agreed)
    return {
        "accepted": True,
        "private": agreed.private,
        "per_sample": _number(limits.per_sample),
        "per_device": _number(limits.per_device),
    }


def successors(case: Case) -> Case:
    old, new = (Terms.parse(case[name]) for name in ("terms", "new"))
    try:
        require_successor(new, old, case["samples"])
    except (InvalidInput, NotPrivate):
        return {"may": False}
    return {"may": True}


def numbers(case: Case) -> Case:
    number, language = case["number"], language_numbers(case)
    said = Phrase("{n}", n=number).render(language)
    return {"written": said} | ({"form": language.form(number)} if type(number) is int else {})


def numbers_in_words(case: Case) -> Case:
    number, margin = case["number"], case["margin"]
    if number is None:
        return {"estimate": str(estimate_in_words(None)), "error": str(error_in_words(None))}
    estimate = Estimate(number, margin)
    return {
        "chance": str(probability_in_words(number)),
        "estimate": str(estimate_in_words(estimate)),
        "error": str(error_in_words(estimate)),
        "significant": str(significant(number)),
    }


def choice(case: Case) -> Case:
    return {"coin": str(Choice(case["k"], case["t"], case["epsilon"]).coin)}


def roles(case: Case) -> Case:
    shares = Roles(case["evaluators"], case["counters"])
    mechanism = DirectionMechanism(4.0, 8, 1, size=3, n_classes=3, roles=shares)
    place = CheckinKey(case["terms_sha256"], case["device"], case["number"])
    return {"role": mechanism.event(1, place).role.value}


def noisy(case: Case) -> Case:
    levels = NoiseLevels(
        *(float(case["levels"][name]) for name in ("gradient", "errors", "labels"))
    )
    mechanism = NoiseMechanism(
        law={"laplace": LAPLACE, "gaussian": GAUSSIAN}[case["law"]],
        levels=levels,
        clip=case["clip"],
        size=len(case["g"]),
        n_classes=case["n_classes"],
        heldout=case["heldout"],
        regularization=case["regularization"],
        radius=case["radius"],
        delta=case["delta"],
    )
    minibatch = _Looked(case)
    event = mechanism.event(minibatch.n_samples)
    given = Given(case["noise"], case["draws"])
    payload = mechanism.make_payload(minibatch, event, CheckinKey("", "", 1), given)
    return {
        "sensitivity": {release.what: release.sensitivity for release in event.releases},
        "loss": _number(event.loss.total),
        "whole_loss": _number(event.whole_loss.total),
        "payload": _written(payload),
    }


def checkouts(case: Case) -> Case:
    parameters = encode_parameters(np.array(case["parameters"]))
    message = Checkout(case["version"], State(case["state"]), parameters)
    return {
        "json": msgspec.json.encode(message).decode(),
        "base64": base64.b64encode(parameters).decode(),
    }


def results(case: Case) -> Case:
    tallies = [RightCount(*each) for each in case["tallies"]]
    said = describe_personal_accuracy(tallies, case["tolerance"])
    error = case["error"] and Estimate(*case["error"])
    now = msgspec.structs.replace(
        NO_STATISTICS, state=State(case["state"]), version=case["version"], error=error
    )
    errors = [PastError(*each) for each in case["errors"]]
    return {
        "personal_accuracy": said and str(said),
        "shares_over_time": shares_over_time(tallies),
        "became": [str(each) for each in describe_contribution(case["mine"], now, errors)],
    }


def ledger(case: Case) -> Case:
    account = Ledger.of(map(_event, case["events"]))
    limits = Limits(case["limits"]["per_sample"], case["limits"]["per_device"])
    try:
        account.require(_event(case["next"]), limits)
    except LimitReached:
        allowed = False
    else:
        allowed = True
    return {
        "epsilon_per_sample": _number(account.epsilon_per_sample),
        "epsilon_spent": _number(account.epsilon_spent),
        "epsilon_per_person": _number(account.epsilon_per_person),
        "allowed": allowed,
    }


def messages(case: Case) -> Case:
    """Go the whole way from a minibatch to a message, with the random numbers given."""
    agreed = Terms.parse(case["terms"])
    sha256 = terms_hash(case["terms"])
    place = CheckinKey(sha256, case["device"], case["number"])
    exported = case["exported"] and np.array(case["exported"])
    mechanism, model = agreed.mechanism(), agreed.make_model()
    minibatch = Minibatch(model, *_arrays(case), exported)
    event = mechanism.event(minibatch.n_samples, place)
    given = Given(case["noise"], case["draws"])
    payload = mechanism.make_payload(minibatch, event, place, given)
    fields = {name: getattr(payload, name) for name in payload.__struct_fields__}
    head = {"id": case["id"], "version": case["version"], "terms": sha256}
    message = checkin_type(mechanism.payload_type)(**head, **fields)
    return {"message": _written(message), "loss": _number(event.loss.total)}


def promise(case: Case) -> Case:
    sent = [Loss(**each) for each in case["sent"]]
    found = Promise.of(Terms.parse(case["terms"]), case["checkins"], sent)
    return {
        "private": found.private,
        "whom": found.whom,
        "level": found.level.key,
        "pill": str(found.level.pill),
        "checkins": found.checkins,
        "epsilon": _number(found.epsilon),
        "epsilon_per_sample": _number(found.epsilon_per_sample),
        "epsilon_per_checkin": found.epsilon_per_checkin,
        "epsilon_per_person": found.epsilon_per_person,
        "epsilon_per_reading": _number(found.epsilon_per_reading),
        "certainty": found.certainty,
        "sure": str(percent_sure(found.bound)),
        "roles": [
            {"role": share.role.value, "n": share.n, "of": share.of, "truth": share.truth}
            for share in found.roles
        ],
        "sentences": {name: str(phrase) for name, phrase in found.sentences.items()},
    }


def sensing(case: Case) -> Case:
    pipeline = Sensing(Sensor(**case["sensor"]), case["count"])
    taken = []
    for time, reading, label in case["readings"]:
        taken += pipeline.push(time, math.nan if reading is None else reading, label)
    return {
        "taken": [
            {
                "time": sample.time,
                "window": sample.window.tolist(),
                "x": sample.x.tolist(),
                "y": sample.y,
            }
            for sample in taken
        ]
    }


def terms(case: Case) -> Case:
    found = Task.from_toml(case["toml"]).terms
    return {"text": found.text, "sha256": terms_hash(found.text), "slots": found.slots}


class Given:
    """Return random numbers from lists: noise in the order of the releases, and draws."""

    def __init__(self, noise: dict[str, list[int]], draws: Sequence[int | str] = ()) -> None:
        self._noise = iter(noise.values())
        self._draws: Iterator[int] = map(int, draws)

    def below(self, n: int) -> int:
        draw = next(self._draws)
        assert draw < n
        return draw

    def random_id(self) -> str:
        raise AssertionError("an id is given")

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.asarray(values + np.array(next(self._noise), dtype=np.int64))

    add_gaussian = add_laplace


class _Looked:
    """Wrap a minibatch that was computed already."""

    def __init__(self, case: Case) -> None:
        self.w, self.g = np.array(case["w"]), np.array(case["g"])
        self.labels = np.array(case["labels"], dtype=np.int64)
        self.n_samples = len(case["mistakes"])
        self._mistakes = np.array(case["mistakes"])

    def mistakes(self) -> Flags:
        return self._mistakes

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        return self.g


def _event(event: Case) -> CheckinEvent:
    if "epsilon" in event:
        return DirectionEvent(event["number"], Role(event["role"]), event["epsilon"])
    releases = tuple(
        Release(r["what"], MinibatchPart(r["part"]), r["sensitivity"], float(r["level"]))
        for r in event["releases"]
    )
    return NoiseEvent(event["n_training"], event["n_heldout"], releases, event["delta"])


def _model(case: Case) -> Model:
    settings = {name: case[name] for name in ("tolerance", "delta")}
    return MODELS[case["kind"]].model(
        case["n_features"], case["n_classes"], case["intercept"], **settings
    )


def _arrays(case: Case) -> tuple[Array, Array, Array]:
    w, x, y = (np.array(case[name], dtype=float) for name in "wxy")
    return w, x, y


def _written(message: msgspec.Struct) -> Case:
    written: Case = json.loads(msgspec.json.encode(message))
    return written


def _number(value: float) -> float | str:
    """Write infinity as a text, since JSON has none."""
    return "inf" if math.isinf(value) else value
