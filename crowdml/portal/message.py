"""One message of a made-up device: the truth that stays, what is sent, and how likely that was."""

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.device import write_checkin
from crowdml.models import Minibatch
from crowdml.portal import words
from crowdml.portal.language import say
from crowdml.privacy import (
    Directed,
    DirectionMechanism,
    Noisy,
    Place,
    Role,
    SystemChance,
    role_of,
)
from crowdml.protocol import Checkin, Terms
from crowdml.types import Array, Flags

__all__ = ["Message", "Odds", "make_message"]

SHOWN = 6


class Odds(NamedTuple):
    """How likely a number was to be sent.

    Args:
        role: The role of the check-in that carries the number.
        number: The number.
        says: What the number says, in words; empty for a direction.
        of: How many numbers there are.
        these: Its probability with these samples.
        likely: With the samples that suit it best.
        unlikely: With those that suit it least.
    """

    role: Role
    number: int
    says: str
    of: int
    these: float
    likely: float
    unlikely: float


class Message(NamedTuple):
    """A check-in.

    Args:
        rows: (what, true, sent) for the numbers that are sent with noise, the first ones.
        more: How many numbers there are besides.
        odds: For a message that is one number.
        body: The message as it is sent.
    """

    rows: list[tuple[str, str, str]]
    more: int
    odds: Odds | None
    body: str


@dataclass(frozen=True)
class Watched(Minibatch):
    """A minibatch that remembers what was asked of it, and what it answered."""

    asked: list[tuple[Flags, Array]] = field(default_factory=list)

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        self.asked.append((rows, super().mean_gradient(rows, clip, norm)))
        return self.asked[-1][1]


def make_message(terms: Terms, minibatch: Minibatch, place: Place, version: int) -> Message:
    """What a device there would send of these samples, by the task's own mechanism."""
    mechanism = terms.mechanism()
    watched = Watched(minibatch.model, minibatch.w, minibatch.x, minibatch.y)
    event = mechanism.event(watched.n_samples, place)
    sent = write_checkin(mechanism, watched, event, place, SystemChance(), version)
    rows: list[tuple[str, str, str]] = []
    odds, more = None, 0
    if isinstance(sent, Noisy):
        g = mechanism.read(sent, place).g
        assert g is not None
        rows, more = _rows(terms, watched, sent, g), max(0, len(g) - SHOWN)
    else:
        odds = _odds(terms, minibatch, sent, place)
    return Message(rows, more, odds, _written(sent))


def _rows(terms: Terms, watched: Watched, sent: Noisy, g: Array) -> list[tuple[str, str, str]]:
    ((training, truth),) = watched.asked
    evaluated = ~training if sent.heldout else training
    counts = np.bincount(watched.labels, minlength=terms.n_classes)[: terms.n_classes]
    wrong = int(watched.mistakes()[evaluated].sum())
    return [
        *(
            (say("number {k}", k=k), words.local(f"{true:.4f}"), words.local(f"{noisy:.4f}"))
            for k, (true, noisy) in enumerate(zip(truth[:SHOWN], g[:SHOWN], strict=True), 1)
        ),
        (say("wrong predictions"), str(wrong), str(sent.errors)),
        *(
            (name, str(true), str(noisy))
            for name, true, noisy in zip(
                terms.target.labels[:SHOWN], counts, sent.labels, strict=False
            )
        ),
    ]


def _odds(terms: Terms, minibatch: Minibatch, sent: Directed, place: Place) -> Odds:
    mechanism = terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    role = role_of(sent)
    choice, number, says = mechanism.choice_of(role), sent.direction or 0, ""
    if sent.wrong is not None:
        number, says = sent.wrong, say("wrong") if sent.wrong else say("right")
    elif sent.answer is not None:
        number, says = sent.answer, terms.target.labels[sent.answer]
    these = mechanism.probability(sent, minibatch, place)
    return Odds(role, number, says, choice.k, these, choice.likely, choice.unlikely)


def _written(sent: Checkin) -> str:
    return msgspec.json.format(msgspec.json.encode(sent), indent=2).decode()
