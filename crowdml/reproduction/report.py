"""Write the report: a page, a picture per figure, and all numbers."""

from html import escape
from pathlib import Path

import msgspec

from crowdml.reproduction.analysis import Analysis
from crowdml.reproduction.claims import Claim
from crowdml.reproduction.figure import Figure, FigureLine
from crowdml.reproduction.page import page, table
from crowdml.reproduction.plot import draw_analysis, draw_beyond, draw_figure, to_png, to_svg
from crowdml.reproduction.reproduce import Reproduction
from crowdml.reproduction.three_mechanisms import BATCHES, BEYOND, EPSILONS, DatasetResults

TITLE = "Crowd-ML: the paper's figures, reproduced"
NUMBER_CLASS = "number"


def write_report(found: Reproduction, folder: Path) -> Path:
    """Write report.html, results.json and every figure as PNG and SVG; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: draw_figure(figure) for name, figure in found.figures.items()}
    if found.analysis is not None:
        drawn |= {f"analysis_{k}": v for k, v in draw_analysis(found.analysis).items()}
    if found.beyond:
        drawn[BEYOND] = draw_beyond(found.beyond)
    pictures = {}
    for name, canvas in drawn.items():
        (folder / f"{name}.png").write_bytes(to_png(canvas))
        pictures[name] = to_svg(canvas, name)
        standalone = pictures[name].replace("currentColor", "#1b1f24")
        (folder / f"{name}.svg").write_text(standalone, encoding="utf-8")
    results = msgspec.json.format(msgspec.json.encode(found), indent=1)
    (folder / "results.json").write_bytes(results)
    path = folder / "report.html"
    path.write_text(page(TITLE, _body(found, pictures)), encoding="utf-8")
    return path


def _body(found: Reproduction, pictures: dict[str, str]) -> str:
    parts = [
        f"<h1>{TITLE}</h1>",
        f"<p>Mean of {found.trials} trial{'s' if found.trials > 1 else ''} (seed {found.seed}); "
        "bands are one standard deviation over trials. Diamonds are values read off the published "
        "figures by eye, to about ±0.01. c and λ are fixed per curve and were chosen once on the "
        "test set, as the paper does; for a model of your own choose them on a validation split."
        "</p>",
        _navigation(found),
    ]
    if found.claims:
        parts.append(_claims(found.claims))
    for name, figure in found.figures.items():
        parts.append(_figure(figure, pictures[name]))
    if found.analysis is not None:
        parts.append(_analysis(found.analysis, pictures))
    if found.beyond:
        parts.append(_beyond(found.beyond, pictures[BEYOND]))
    return "\n".join(parts)


def _navigation(found: Reproduction) -> str:
    names = [name for name, figure in found.figures.items() if figure.plan.beside is None]
    links = [f'<a href="#{name}">Figure {name[3:]}</a>' for name in names]
    if found.analysis is not None:
        links.append('<a href="#analysis">Section IV</a>')
    if found.beyond:
        links.append('<a href="#beyond">Beyond the paper</a>')
    return f"<nav>{' '.join(links)}</nav>"


def _claims(claims: list[Claim]) -> str:
    yes, no = '<span class="holds">holds</span>', '<span class="fails">does not hold</span>'
    rows = [
        [
            escape(_heading(claim.figure)),
            escape(claim.text),
            yes if claim.holds else no,
            escape(claim.numbers),
        ]
        for claim in claims
    ]
    held = sum(claim.holds for claim in claims)
    return (
        f"<h2>What the paper claims</h2><p>{held} of {len(claims)} hold on our curves.</p>"
        + table(["figure", "claim", "", "our numbers"], rows, stack=True)
    )


def _heading(name: str) -> str:
    """Write a name such as `fig5_one_pass` as words."""
    number, _, rest = name.removeprefix("fig").partition("_")
    return f"Figure {number}" + (f", {rest.replace('_', ' ')}" if rest else "")


def _figure(figure: Figure, picture: str) -> str:
    level = "h3" if figure.plan.beside else "h2"
    title = escape(figure.plan.title)
    rows = [_row(line) for line in figure.lines]
    one_pass = figure.plan.passes == 1 and figure.name.endswith("one_pass")
    paper = "paper, five passes" if one_pass else "paper"
    head = ["curve", "b", "c", "λ", "ours", "± spread", paper, "difference"]
    return (
        f'<{level} id="{figure.name}">{_heading(figure.name)}: {title}</{level}>\n'
        f'<figure role="img" aria-label="{title}">{picture}</figure>\n'
        + table(head, rows, ["", *[NUMBER_CLASS] * 7])
        + f'\n<p class="note">{escape(figure.plan.rates)}</p>'
    )


def _row(line: FigureLine) -> list[str]:
    plan, paper_value = line.plan, line.paper_value
    name = f"{plan.panel}, {plan.label}" if plan.panel else plan.label
    batch = plan.approach == "central-batch"
    return [
        escape(name),
        "–" if batch else str(plan.batch),
        "–" if batch else f"{plan.rate:g}",
        f"{plan.reg:g}",
        f"{line.ours:.3f}",
        f"{line.std[-1]:.3f}",
        "–" if paper_value is None else f"{paper_value:.3f}".rstrip("0"),
        "–" if paper_value is None else f"{line.ours - paper_value:+.3f}",
    ]


def _analysis(found: Analysis, pictures: dict[str, str]) -> str:
    size = found.n_classes * found.n_features
    ratios = [row.measured / row.predicted for row in found.noise]
    missed = {k: [row.measured / row.predicted for row in v] for k, v in found.staleness.items()}
    cheaper = [f"{row.x:g}" for row in found.bytes_per_sample if row.measured < found.raw_bytes]
    texts = {
        "noise": (
            "Noise in a gradient",
            f"The paper's formula holds if its D is the number of parameters, C·D = "
            f"{found.n_classes}·{found.n_features} = {size}: every parameter gets noise, not only "
            f"one per feature. Measured with the device's own exact noise at ε = 10 and w = 0, it "
            f"is {min(ratios):.2f} to {max(ratios):.2f} times the formula. The formula leaves out "
            "the square of the mean gradient, which does not shrink with b.",
        ),
        "bytes": (
            "Bytes sent per sample",
            "A real check-out and check-in, as JSON with numbers in base64, fall with 1/b. The "
            "paper's saving of b/2 over sending samples takes a gradient to be as long as a "
            "sample; with C classes it is C times as long, so the saving is about b/(2C). "
            + (
                f"Of the sizes tried, b = {', '.join(cheaper)} send less than the sample itself."
                if cheaper
                else "At none of the sizes tried is less sent than the sample itself."
            ),
        ),
        "staleness": (
            "Updates missed during a delay",
            "The mean of a uniform delay is τ/2, so (τ_co + τ_ci)·M·F_s/b is τ/b in units of Δ. "
            + " ".join(
                f"For {name} we find {min(r):.2f} to {max(r):.2f} times that."
                for name, r in missed.items()
            )
            + " It falls short at long delays, since devices go on collecting meanwhile and "
            "check in more than b samples at once.",
        ),
    }
    sections = [
        f"<h3>{title}</h3>\n"
        f'<figure role="img" aria-label="{title}">{pictures[f"analysis_{key}"]}</figure>\n'
        f"<p>{escape(text)}</p>"
        for key, (title, text) in texts.items()
    ]
    heading = '<h2 id="analysis">Section IV, measured</h2>'
    return "\n".join([heading, *sections])


def _beyond(found: dict[str, DatasetResults], picture: str) -> str:
    title = "The same honest ε, three mechanisms, nothing tuned"
    text = (
        "One pass over the paper's data; every device checks in once, with b samples. For Laplace "
        "and Gaussian noise ε is what one sample loses (δ = 10⁻⁶ for Gaussian); for a direction it "
        "is what the whole person loses, all b samples at once. All settings are the defaults of a "
        "new task."
    )
    parts = [
        f'<h2 id="{BEYOND}">Beyond the paper: {title}</h2>',
        f'<figure role="img" aria-label="{title}">{picture}</figure>',
        f"<p>{escape(text)}</p>",
    ]
    head = ["mechanism", "b", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    for name, each in found.items():
        mechanisms = dict.fromkeys(row.mechanism for row in each.rows)
        rows = [
            [mechanism, str(batch)]
            + [f"{each.error(mechanism, batch, epsilon):.3f}" for epsilon in EPSILONS]
            for mechanism in mechanisms
            for batch in BATCHES
        ]
        parts.append(
            f"<h3>{escape(name)}: guessing {each.guess:.3f}, all data in one place "
            f"{each.central:.3f}</h3>" + table(head, rows, ["", *[NUMBER_CLASS] * 5])
        )
    return "\n".join(parts)
