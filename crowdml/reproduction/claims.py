"""Check the paper's claims about its figures on our curves."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from crowdml.reproduction.figure import Figure
from crowdml.reproduction.paper import PAPER_PRECISION

ALIKE_MARGIN = 0.02
"""Errors that differ by less are called alike; the paper's values are no more precise than that."""

FAR_MARGIN = 0.1
SENSITIVE_MARGIN = 0.03
POOR_ERROR = 0.8
GUESS_ERROR = 0.85


ClaimVerdict: TypeAlias = tuple[str, bool, str]
"""A claim without its figure."""


class Claim(msgspec.Struct, frozen=True):
    """Hold a claim, whether our curves support it, and the numbers that decide."""

    figure: str
    text: str
    holds: bool
    numbers: str


def check_claims(figures: Mapping[str, Figure]) -> list[Claim]:
    """Check every claim about the figures that were run."""
    checks = {
        "fig3": _rates_alike,
        "fig4": _without_privacy,
        "fig5": _with_privacy,
        "fig6": _with_delays,
        "fig7": _without_privacy,
        "fig8": _with_privacy,
        "fig9": _with_delays,
    }
    claims: list[Claim] = []
    for name, figure in figures.items():
        for check in (checks.get(figure.plan.beside or name), _at_or_below):
            claims += [Claim(figure.name, *found) for found in check(figure)] if check else []
    return claims


def _rates_alike(figure: Figure) -> Iterator[ClaimVerdict]:
    finals = [line.ours for line in figure.lines if line.paper]
    lowest, highest = min(finals), max(finals)
    yield (
        "all c alike (to 0.05) in the end",
        highest - lowest <= 0.05,
        f"{lowest:.3f} … {highest:.3f}",
    )
    if figure.plan.beside:
        return
    moves = max(abs(line.at(50) - line.ours) for line in figure.lines)
    yield (
        "virtually converged after 50 samples (to 0.05)",
        moves <= 0.05,
        f"largest change afterwards {moves:.3f}",
    )


def _without_privacy(figure: Figure) -> Iterator[ClaimVerdict]:
    crowd, central = figure["crowd"].ours, figure["central_batch"].ours
    alone = figure["decentral"].ours
    yield (
        "crowd as good as central batch without privacy",
        crowd <= central + ALIKE_MARGIN,
        f"{crowd:.3f} and {central:.3f}",
    )
    yield (
        "decentralised far worse than the crowd",
        alone >= crowd + FAR_MARGIN,
        f"{alone:.3f} and {crowd:.3f}",
    )


def _with_privacy(figure: Figure) -> Iterator[ClaimVerdict]:
    b1, b10, b20 = (figure[f"crowd_b{b}"].ours for b in (1, 10, 20))
    batch = figure["central_batch"].ours
    yield (
        "b = 20 below b = 10 below b = 1",
        b20 < b10 < b1,
        (" < " if b20 < b10 < b1 else ", ").join(f"{error:.3f}" for error in (b20, b10, b1)),
    )
    yield (
        "b = 20 far below central batch (by 0.1)",
        b20 <= batch - FAR_MARGIN,
        f"{b20:.3f} and {batch:.3f}",
    )
    yield (
        "b = 1 and b = 10 similar to central batch (to 0.02) or better",
        max(b1, b10) <= batch + ALIKE_MARGIN,
        f"{b1:.3f} and {b10:.3f}, central {batch:.3f}",
    )
    sgd = [line.ours for line in figure.lines if line.plan.key.startswith("central_sgd_b")]
    if sgd:
        yield (
            f"central SGD very poor for every b (above {POOR_ERROR})",
            min(sgd) >= POOR_ERROR,
            ", ".join(f"{error:.3f}" for error in sgd),
        )


def _with_delays(figure: Figure) -> Iterator[ClaimVerdict]:
    finals = {b: [figure[f"b{b}_delay{k}"].ours for k in (1, 10, 100, 1000)] for b in (1, 20)}
    spread = max(finals[20]) - min(finals[20])
    yield (
        "b = 20 insensitive to delays up to 1000Δ (to 0.02)",
        spread <= ALIKE_MARGIN,
        " / ".join(f"{error:.3f}" for error in finals[20]),
    )
    yield (
        f"b = 1 sensitive: 1000Δ worse than 1Δ (by {SENSITIVE_MARGIN})",
        finals[1][-1] - finals[1][0] >= SENSITIVE_MARGIN,
        " / ".join(f"{error:.3f}" for error in finals[1]),
    )
    early = [line for line in figure.lines if line.plan.batch == 20 and len(line.paper) > 1]
    if not early or figure.plan.beside:
        return
    waiting = min(line.mean[1] for line in early)
    yield (
        f"b = 20 starts with a plateau near chance (still above {GUESS_ERROR} after "
        f"{early[0].samples[1]:,} samples)",
        waiting >= GUESS_ERROR,
        f"least {waiting:.3f}",
    )


def _at_or_below(figure: Figure) -> Iterator[ClaimVerdict]:
    """Compare the crowd's curves with every value of the paper, not only with the last."""
    if figure.plan.beside:
        return
    gaps = {
        (line.plan.label, value.samples): line.at(value.samples) - value.error
        for line in figure.lines
        for value in line.paper
        if line.plan.approach == "crowd"
    }
    if not gaps:
        return
    (label, samples), gap = max(gaps.items(), key=lambda item: item[1])
    side = "above" if gap > 0 else "below"
    yield (
        f"the crowd's curves at or below the paper's values + {PAPER_PRECISION}",
        gap <= PAPER_PRECISION,
        f"worst: {label} at {samples:,} samples, {abs(gap):.3f} {side}",
    )
