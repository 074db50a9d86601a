"""Define the mechanisms `laplace` and `gaussian` in a task, with their sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crowdml.phrase import Phrase
from crowdml.privacy import NoiseEvent, NoisePayload, Unit
from crowdml.protocol.mechanisms.kind import MechanismKind, NeededExtra
from crowdml.protocol.mechanisms.noise_rules import (
    epsilon_is_enough,
    label_counts_have_their_level,
    parts_have_a_use,
)
from crowdml.protocol.mechanisms.noise_terms import GaussianTerms, LaplaceTerms

if TYPE_CHECKING:
    from crowdml.protocol.promise import Promise


def _sending_sentences(promise: "Promise") -> Iterator[tuple[str, Phrase]]:
    yield "numbers", _numbers(promise)
    yield "hides", _hides(promise)


def _numbers(promise: "Promise") -> Phrase:
    if promise.has_labels:
        return Phrase(
            "A check-in holds {n} numbers: which way the model should move, how many of its "
            "predictions were wrong, and how many samples had each answer.",
            n=promise.numbers,
        )
    return Phrase(
        "A check-in holds {n} numbers: which way the model should move, and how many of its "
        "predictions were wrong.",
        n=promise.numbers,
    )


def _hides(promise: "Promise") -> Phrase:
    if promise.exact:
        return Phrase("The numbers are sent exactly as they are.")
    if promise.level.key == "none":
        return Phrase("So little noise is added to the numbers that nothing is protected.")
    if promise.weak:
        return Phrase(
            "Each number sent has noise, but so little that what your samples have in common "
            "can become nearly certain."
        )
    return Phrase("Noise is added to each number sent.")


OPTIONS = frozenset({"privacy.epsilon_e", "privacy.epsilon_y", "collection.heldout", "model.clip"})

OPENDP = NeededExtra("opendp", extra="noise")

LAPLACE_NOISE = MechanismKind(
    terms=LaplaceTerms,
    payload_type=NoisePayload,
    event=NoiseEvent,
    unit=Unit.SAMPLE,
    words="protects each sample: Laplace noise on averages of many samples, as in the paper",
    sending_sentences=_sending_sentences,
    options=OPTIONS,
    trials=40_000,
    clip=0.2,
    # Rows of length 1 in L1 are several times shorter in L2, so w has to go further.
    reach=(400.0, 20.0),
    errors_without_and_with_liars=(0.013, 0.59),
    needs=OPENDP,
    task_rules=(parts_have_a_use, epsilon_is_enough(LaplaceTerms)),
    terms_rules=(label_counts_have_their_level("privacy.epsilon_y"),),
)

GAUSSIAN_NOISE = MechanismKind(
    terms=GaussianTerms,
    payload_type=NoisePayload,
    event=NoiseEvent,
    unit=Unit.SAMPLE,
    words="protects each sample: Gaussian noise on averages of many samples",
    sending_sentences=_sending_sentences,
    options=OPTIONS | {"privacy.delta"},
    trials=100_000,
    clip=0.1,
    reach=(60.0, 5.0),
    errors_without_and_with_liars=(0.012, 0.68),
    needs=OPENDP,
    task_rules=(parts_have_a_use, epsilon_is_enough(GaussianTerms)),
    terms_rules=(label_counts_have_their_level("privacy.rho_y"),),
)
