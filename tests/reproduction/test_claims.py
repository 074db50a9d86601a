"""Test that numbers alone decide whether a claim holds."""

import pytest

from crowdml.reproduction import Reproduction, load_plans
from crowdml.reproduction.claims import Claim, check_claims
from crowdml.reproduction.figure import Figure, FigureLine
from crowdml.reproduction.paper import paper_values_of

PLANS = load_plans()


def drawn(name: str, finals: dict[str, float]) -> Figure:
    """Make a figure whose curves fall at once from 0.9 to the given errors, or else to 0.5."""
    plan = PLANS[name]
    end = 60_000 * plan.passes
    lines = [
        FigureLine(
            curve,
            [0, 1, end],
            [0.9, finals.get(curve.key, 0.5), finals.get(curve.key, 0.5)],
            [0.0, 0.0, 0.0],
            paper_values_of(plan.beside or name, curve.key),
        )
        for curve in plan.curves
    ]
    return Figure(name, plan, tuple(lines))


def claim(figure: Figure, words: str) -> Claim:
    return next(c for c in check_claims({figure.name: figure}) if words in c.text)


@pytest.mark.parametrize(
    ("name", "finals", "words", "holds"),
    [
        ("fig4", {"crowd": 0.11, "central_batch": 0.10}, "as good as central", True),
        ("fig4", {"crowd": 0.13, "central_batch": 0.10}, "as good as central", False),
        ("fig4", {"crowd": 0.10, "decentral": 0.4}, "far worse", True),
        ("fig4", {"crowd": 0.35, "decentral": 0.4}, "far worse", False),
        ("fig5", {"crowd_b1": 0.4, "crowd_b10": 0.3, "crowd_b20": 0.2}, "below b = 10", True),
        ("fig5", {"crowd_b1": 0.4, "crowd_b10": 0.2, "crowd_b20": 0.3}, "below b = 10", False),
        ("fig5", {"crowd_b20": 0.2, "central_batch": 0.35}, "far below", True),
        ("fig5", {"crowd_b20": 0.3, "central_batch": 0.35}, "far below", False),
        ("fig5", {"crowd_b1": 0.4, "crowd_b10": 0.3, "central_batch": 0.35}, "similar", False),
        ("fig5", {f"central_sgd_b{b}": 0.88 for b in (1, 10, 20)}, "very poor", True),
        ("fig5", {"central_sgd_b1": 0.3}, "very poor", False),
        ("fig6", {"b20_delay1000": 0.53}, "insensitive", False),
        ("fig6", {"b20_delay1000": 0.51}, "insensitive", True),
        ("fig6", {"b1_delay1000": 0.54}, "b = 1 sensitive", True),
        ("fig6", {"b1_delay1000": 0.52}, "b = 1 sensitive", False),
        ("fig7", {"crowd": 0.31}, "at or below", True),
        ("fig7", {"crowd": 0.33}, "at or below", False),
    ],
)
def test_claims(name: str, finals: dict[str, float], words: str, holds: bool) -> None:
    assert claim(drawn(name, finals), words).holds is holds


def test_every_small_figure_of_the_paper_is_judged(found: Reproduction) -> None:
    judged = {claim.figure for claim in found.claims}
    assert judged == set(PLANS)
