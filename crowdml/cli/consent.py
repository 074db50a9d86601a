"""What a participant agrees to, shown before it is asked."""

import typer
from rich.console import Console

from crowdml.device import Offer
from crowdml.privacy import Limits
from crowdml.protocol import Terms

__all__ = ["ask"]


def ask(offer: Offer, limits: Limits, question: str, yes: bool, before: str = "") -> None:
    """Show the terms and their hash; end the command unless the participant says yes."""
    # What a server says is text: its brackets must not hide anything.
    console = Console(stderr=True, markup=False, highlight=False)
    console.print(f"{before}{in_plain_words(offer.terms, limits)}")
    console.print(f"\nterms {offer.sha256}", soft_wrap=True)
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit(1)


def in_plain_words(terms: Terms, limits: Limits) -> str:
    cost, batch = terms.epsilon_per_sample, terms.collection.batch
    wanted = ", ".join(terms.target.labels) or terms.target.description or "a number"
    noise = (
        "all with random noise. Never a sample."
        if terms.private
        else "all without any noise: samples could be worked out from them."
    )
    lines = [
        f"What is read:      {terms.sensors}",
        f"What is computed:  {terms.features.count} numbers. {terms.features.description}",
        f"What is predicted: {wanted}",
        f"What leaves:       after every {batch} samples: the average of what they suggest to "
        f"change, how many were predicted wrongly and how many had each label, {noise}",
    ]
    if terms.private:
        lines.append(
            f"How it is hidden:  whatever anyone does with it, one sample changes the chance of "
            f"any message by a factor of at most e^{cost:g}. You allow ε = {limits.per_sample:g} "
            f"for a sample and {limits.per_device:g} for all check-ins together."
        )
    else:
        lines.append("How it is hidden:  NOT AT ALL. THIS TASK IS NOT PRIVATE.")
    return "\n".join(lines)
