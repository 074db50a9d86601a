"""What a participant agrees to, shown before it is asked."""

from collections.abc import Sequence

import typer

from crowdml.cli.output import Console, say
from crowdml.device import Offer
from crowdml.privacy import Limits
from crowdml.protocol import Terms
from crowdml.visible import visible

__all__ = ["ask"]


def ask(
    offer: Offer,
    limits: Limits,
    question: str,
    yes: bool,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> None:
    """Show the terms, lines around them, and their hash; end unless the participant says yes."""
    console = Console(stderr=True)
    for line in (*before, *in_plain_words(offer.terms, limits), *after, ""):
        console.print(visible(line))
    say(f"terms {offer.sha256}", err=True)
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit(1)


def in_plain_words(terms: Terms, limits: Limits) -> list[str]:
    wanted = ", ".join(terms.target.labels) or terms.target.description or "a number"
    return [
        f"Who asks:          {terms.owner}. Reach them at {terms.contact}",
        f"What for:          {terms.purpose}",
        f"What is read:      {terms.sensors}",
        f"What is computed:  {terms.features.count} numbers. {terms.features.description}",
        f"What is predicted: {wanted}",
        f"What leaves:       {_leaving(terms)}",
        f"How it is hidden:  {_hiding(terms, limits) if terms.private else _not_at_all(terms)}",
        "How to stop:       `crowdml device leave`, at any time: it erases the samples, the ledger "
        "and the key here. The sum of what you told over all tasks is kept in participant.account, "
        "and what was sent stays part of the model.",
    ]


def _leaving(terms: Terms) -> str:
    collection = terms.collection
    if terms.epsilon_in_all:
        times = "once" if collection.checkins == 1 else f"at most {collection.checkins} times"
        return (
            f"{times}, after {collection.batch} samples: one small number. "
            "Either it names a direction in which to change the model, or it says whether one "
            "prediction was right; which of the two is not for the device to choose. Never a "
            "sample."
        )
    noise = (
        "all with random noise. Never a sample."
        if terms.hides
        else "all without any noise: samples could be worked out from them."
    )
    return (
        f"after every {collection.batch} samples: the average of what they "
        "suggest to change, how many were predicted wrongly and how many had each label, "
        f"{noise}"
    )


def _hiding(terms: Terms, limits: Limits) -> str:
    if terms.epsilon_in_all:
        return (
            "the number is chosen by chance, so that whatever you contribute, "
            "nobody can be sure of any of it. Whatever you contribute, in all: "
            f"ε = {terms.epsilon_in_all:g}."
        )
    return (
        "whatever anyone does with it, one sample changes the chance of any "
        f"message by a factor of at most e^{terms.epsilon_per_sample:g}. You allow "
        f"ε = {limits.per_sample:g} for a sample and {limits.per_device:g} for all check-ins "
        f"together. {_readings(terms)}The promise is for samples, not for you as a whole."
    )


def _readings(terms: Terms) -> str:
    if terms.shared == 1:
        return ""
    return (
        f"One reading of the sensor is in up to {terms.shared} samples: for a reading, "
        f"ε = {terms.epsilon_per_reading:g}. "
    )


def _not_at_all(terms: Terms) -> str:
    return f"NOT AT ALL. THIS TASK IS NOT PRIVATE. {terms.why_not_private}"
