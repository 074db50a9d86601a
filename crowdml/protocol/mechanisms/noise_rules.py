"""Check the privacy of a task with the mechanism `laplace` or `gaussian`."""

import math
from collections.abc import Iterator
from operator import itemgetter

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.protocol.mechanisms.kind import WantedPrivacy
from crowdml.protocol.mechanisms.noise_terms import NoiseTerms, levels_of
from crowdml.protocol.review import FieldRule, field_rule


@field_rule("privacy.epsilon", "privacy.epsilon_e", "privacy.epsilon_y", "target.labels")
def parts_have_a_use(
    epsilon: float, epsilon_e: float | None, epsilon_y: float | None, labels: tuple[str, ...]
) -> Iterator[Mistake]:
    """Reject a part of ε for label counts without labels, and any part of no noise."""
    if epsilon_y and not labels:
        must = Phrase("is for label counts, and target.labels has none")
        yield Mistake("privacy.epsilon_y", must, epsilon_y, Phrase("Remove it."))
    for name, part in (("epsilon_e", epsilon_e), ("epsilon_y", epsilon_y)):
        if part and math.isinf(epsilon):
            must = Phrase(
                "must be left out where privacy.epsilon is inf, which means no noise at all"
            )
            yield Mistake(f"privacy.{name}", must, part, Phrase("Remove it."))


def epsilon_is_enough(terms: type[NoiseTerms]) -> FieldRule:
    """Make the rule that ε suffices for the gradient and the counts, by these terms."""

    @field_rule("privacy.delta", "privacy.epsilon", "privacy.epsilon_e", "privacy.epsilon_y",
                "target.labels", "collection.batch", "collection.heldout")  # fmt: skip
    def check(
        delta: float | None,
        epsilon: float,
        epsilon_e: float | None,
        epsilon_y: float | None,
        labels: tuple[str, ...],
        batch: int,
        heldout: float | None,
    ) -> Iterator[Mistake]:
        aside = int((heldout or 0.0) * batch) > 0
        wanted = WantedPrivacy(
            epsilon, epsilon_e, epsilon_y, delta, has_labels=bool(labels), heldout=aside
        )
        smallest = terms.smallest_part(wanted)
        g, e, y = levels_of(wanted)
        sent = [(g, Phrase("the gradient")), (e, Phrase("errors"))]
        sent += [(y, Phrase("labels"))] if labels else []
        least, whose = min(sent, key=itemgetter(0))
        if g <= 0 or (aside and e > g):
            name = "epsilon_e" if (epsilon_e or 0) >= (epsilon_y or 0) else "epsilon_y"
            must = Phrase("must leave a part of privacy.epsilon for the gradient")
            found = Phrase(
                "{errors} for errors and {labels} for labels of a total of {all}",
                errors=e,
                labels=y,
                all=epsilon,
            )
            yield Mistake(f"privacy.{name}", must, found, Phrase("Lower it."))
        elif least < smallest:
            rounded = float(f"{smallest:.3g}")
            must = Phrase("must be enough for all its parts, {n} or more for each", n=rounded)
            found = Phrase(
                "{epsilon}, which leaves {least} for {part}",
                epsilon=epsilon,
                least=least,
                part=whose,
            )
            remedy = Phrase("Raise it, or use inf for no noise.")
            yield Mistake("privacy.epsilon", must, found, remedy)

    return check


def label_counts_have_their_level(field: str) -> FieldRule:
    """Make the rule that the level in this field is above 0 exactly where there are labels."""

    @field_rule(field, "target.labels")
    def check(level: float | str, labels: tuple[str, ...]) -> Iterator[Mistake]:
        if labels and not float(level) > 0:
            yield Mistake(field, Phrase("must be above 0 where there are labels"), f"{level}")
        if not labels and level != 0:
            yield Mistake(field, Phrase("must be 0 where there are no labels"), f"{level}")

    return check
