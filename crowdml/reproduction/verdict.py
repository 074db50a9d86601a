"""Write a paragraph on each figure: what agrees with the paper, what does not, and why."""

from crowdml.reproduction.claims import SENSITIVE_MARGIN
from crowdml.reproduction.figure import Figure, FigureLine
from crowdml.reproduction.paper import PAPER_PRECISION

CLEAR_MARGIN = 0.05

TINY_RATES = (
    "Why small c all give the same curve: at w = 0 all classes are equally likely, and a softmax "
    "predicts the class with the largest score, which does not change when w is multiplied by a "
    "positive number. As long as w is small the gradients do not depend on it either, so c only "
    "scales w."
)
UNITS = (
    "The people, phones and labels are others than the paper's. c is in the units of a spectrum in "
    "m/s² that is not normalised; the paper normalises its digits and does not say so of "
    "activities."
)
WILD = (
    "These are other features, of people who went about their days and labelled them themselves; "
    "as on the paper's phones, samples are collected only when the label changes."
)
UNSUITED = (
    "The paper's value for central SGD looks like one of the rate, not of the approach: with a "
    "rate that suits data without noise, c = 300, ours ends at {unsuited:.2f}, with one that suits "
    "the noise at {best:.2f}."
)
DECENTRAL = (
    "Our decentralised devices do better than the paper's at every c that was tried, 1 to 3000, so "
    "the rate alone does not explain the difference."
)
FEATURES = (
    "The features come from another network than the paper's and separate the classes better; so "
    "the levels differ, and the order of the curves is what to compare."
)
ONE_PASS = (
    "The paper's five passes use each sample five times, so each loses five times ε, 50 in total. "  # noqa: S105
    "Here each is used once and loses ε = 10, which is also what the central approach spends."
)
INSENSITIVE = (
    "Unlike in the paper, delays hardly hurt b = 1. One reason: a device goes on collecting while "
    "it waits, and its check-in then averages {n:.1f} samples at 1000Δ (everything that it has, as "
    "Routine 1 says), so there are fewer updates with less noise each."
)
FIVE_PASSES = "Five passes: in total a sample loses ε = 50, five times the ε of the caption."


def verdict(figure: Figure) -> str:
    """Write the sentences that follow from the measured numbers."""
    compared = [line for line in figure.lines if line.paper_value is not None]
    sentences = [] if figure.plan.beside else [_levels(compared)]
    if figure.plan.measure == "online":
        sentences.append(_activities(figure))
    elif figure.plan.beside:
        sentences.append(_one_pass(compared))
    elif figure.plan.passes > 1:
        sentences.append(FIVE_PASSES)
    sentences += _reasons(figure)
    return " ".join(sentence for sentence in sentences if sentence)


def _levels(lines: list[FigureLine]) -> str:
    gaps = {
        f"within {PAPER_PRECISION} of": [
            line for line in lines if abs(_gap(line)) <= PAPER_PRECISION
        ],
        "below": [line for line in lines if _gap(line) < -PAPER_PRECISION],
        "above": [line for line in lines if _gap(line) > PAPER_PRECISION],
    }
    parts = [f"{where} the paper: {_names(some)}" for where, some in gaps.items() if some]
    return f"In the end {'; '.join(parts)}." if parts else ""


def _names(lines: list[FigureLine]) -> str:
    if len(lines) > 4 and not any(line.plan.panel for line in lines):
        return f"{len(lines)} curves"
    return ", ".join(
        f"{line.plan.panel + ' ' if line.plan.panel else ''}{line.plan.label} ({_gap(line):+.2f})"
        for line in lines
    )


def _gap(line: FigureLine) -> float:
    assert line.paper_value is not None
    return line.ours - line.paper_value


def _activities(figure: Figure) -> str:
    """Compare time-averaged errors: the rates, and how soon the errors are low."""
    finals = [line.ours for line in figure.lines if line.paper]
    if figure.plan.beside is None:
        slow = [line.plan.label for line in figure.lines if line.ours > min(finals) + CLEAR_MARGIN]
        early = min(line.at(50) for line in figure.lines)
        parts = [UNITS]
        if slow:
            parts.append(f"Too small to have learnt by then: {', '.join(slow)}.")
        if early > 0.2:
            parts.append(f"Our people need more samples: {early:.2f} or more after 50.")
        return " ".join(parts)
    small = [line.ours for line in figure.lines if line.plan.rate <= 1e-3]
    coincide = max(small) - min(small) <= PAPER_PRECISION
    low, high = f"{min(finals):.2f}", f"{max(finals):.2f}"
    parts = [f"In the paper's range of c: {low if low == high else f'{low} to {high}'} in the end."]
    parts += [WILD] if figure.plan.dataset == "extrasensory" else []
    parts += [TINY_RATES] if coincide else []
    parts += [
        f"Rows of length 1 need a larger c: {line.plan.label} ends at {line.ours:.2f}."
        for line in figure.lines
        if not line.paper and line.ours < min(finals) - CLEAR_MARGIN
    ]
    return " ".join(parts)


def _one_pass(lines: list[FigureLine]) -> str:
    crowd = [line for line in lines if line.plan.approach == "crowd"]
    reached = [line for line in crowd if _gap(line) <= PAPER_PRECISION]
    if len(reached) == len(crowd):
        value = f"the paper's five-pass value + {PAPER_PRECISION}"
        return f"{ONE_PASS} Even so every curve reaches {value}."
    if not reached:
        return f"{ONE_PASS} No curve then reaches the paper's five-pass value + {PAPER_PRECISION}."
    missing = [line for line in crowd if line not in reached]
    return (
        f"{ONE_PASS} {len(reached)} of {len(crowd)} curves still reach the paper's five-pass value "
        f"+ {PAPER_PRECISION}; not so {_names(missing)}."
    )


def _reasons(figure: Figure) -> list[str]:
    """Give the reasons for a difference, where there is one."""
    lines = {line.plan.key: line for line in figure.lines}
    gaps = {key: _gap(line) for key, line in lines.items() if line.paper_value is not None}
    reasons = []
    best, unsuited = lines.get("central_sgd_b1"), lines.get("central_sgd_unsuited")
    if (
        best
        and unsuited
        and gaps["central_sgd_b1"] < -CLEAR_MARGIN
        and unsuited.ours > best.ours + 0.2
    ):
        reasons.append(UNSUITED.format(unsuited=unsuited.ours, best=best.ours))
    batch = lines.get("central_batch")
    if batch and not figure.plan.beside and gaps["central_batch"] < -CLEAR_MARGIN:
        reasons.append(f"Central batch is {-gaps['central_batch']:.2f} better than in the paper.")
    if "decentral" in gaps and gaps["decentral"] < -CLEAR_MARGIN:
        reasons.append(DECENTRAL)
    near, late = lines.get("b1_delay1"), lines.get("b1_delay1000")
    if (
        near
        and late
        and late.ours < near.ours + SENSITIVE_MARGIN
        and late.samples_per_checkin > 1.2
    ):
        reasons.append(INSENSITIVE.format(n=late.samples_per_checkin))
    if figure.plan.dataset == "cifar10" and not figure.plan.beside:
        crowd = [gap for key, gap in gaps.items() if lines[key].plan.approach == "crowd"]
        if crowd and min(crowd) < -CLEAR_MARGIN:
            reasons.append(FEATURES)
    return reasons
