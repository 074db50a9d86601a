"""Show a participant the terms, and ask whether they agree."""

from collections.abc import Iterable, Sequence

from crowdml.cli.console import Console
from crowdml.cli.interruption import confirm
from crowdml.cli.output import print_lines
from crowdml.device import TermsOffer
from crowdml.phrase import Phrase
from crowdml.privacy import Limits, Loss
from crowdml.protocol import Features, Promise, Terms
from crowdml.visible import visible


def ask(
    offer: TermsOffer,
    limits: Limits,
    question: str,
    yes: bool,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    sent: Iterable[Loss] = (),
) -> None:
    """Show the terms and their hash between the lines `before` and `after`, and ask for consent.

    The command ends unless the participant answers yes, or `yes` is set. `sent` holds the losses
    of this device's check-ins in the task so far.
    """
    console = Console(stderr=True)
    for line in (*before, *in_plain_words(offer.terms, limits, sent), *after, ""):
        console.print(visible(line))
    print_lines(f"terms {offer.sha256}", err=True)
    if not yes:
        confirm(question)


def in_plain_words(terms: Terms, limits: Limits, sent: Iterable[Loss] = ()) -> list[str]:
    """Return the terms as lines, with the promise for the participant's limits."""
    promise = Promise.of(terms, terms.checkins_within(limits.per_device), sent)
    unit = f" ({terms.target.unit})" if terms.target.unit else ""
    wanted = ", ".join(terms.target.labels) or (terms.target.description or "a number") + unit
    warning = [] if promise.private else [promise.sentences["not_private"]]
    return [
        f"Who asks:          {terms.owner}. Reach them at {terms.contact}",
        f"What for:          {terms.purpose}",
        f"What is read:      {terms.sensors}",
        f"What is computed:  {terms.features.count} numbers. {_computed(terms.features)}",
        f"What is predicted: {wanted}",
        *([f"Where it starts:   {start.phrase}"] if (start := terms.model.start) else ()),
        f"What leaves:       {_joined(promise.what_leaves)}",
        f"What you lose:     {promise.level.pill}. {_joined(promise.what_is_lost)}",
        f"What you allow:    ε = {limits.per_sample:g} for a sample and {limits.per_device:g} for "
        "all check-ins together. Then the device stops.",
        *(f"                   THIS TASK IS NOT PRIVATE. {why}" for why in warning),
        "How to stop:       Run `crowdml device leave` at any time. It erases the samples, the "
        "ledger and the access code on this machine. The file participant.account keeps the sum "
        "of what you sent in all tasks, and what you sent stays part of the model.",
    ]


def _computed(features: Features) -> str:
    return " ".join(filter(None, [features.description, _joined(features.sentences)]))


def _joined(sentences: Sequence[Phrase]) -> str:
    return " ".join(map(str, sentences))
