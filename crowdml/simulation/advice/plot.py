"""Draw the options of an advice: expected errors, beside guessing and all data in one place."""

from matplotlib.figure import Figure

from crowdml.simulation.advice.advice import Advice
from crowdml.simulation.advice.pilot_options import PilotAdvice
from crowdml.simulation.plot import COLOURS, NotebookFigure


def draw_options(advice: Advice, title: str) -> Figure:
    """Draw a bar for each option, the best on top, between guessing and all data in one place."""
    options = advice.options[::-1]
    figure = NotebookFigure(8.0, 1.2 + 0.32 * len(options))
    axes = figure.add_subplot()
    names, labels = sorted({option.mechanism for option in options}), []
    for row, option in enumerate(options):
        colour = COLOURS[names.index(option.mechanism)]
        chosen = option == advice.recommended
        reach = [[max(option.error - option.low, 0)], [max(option.high - option.error, 0)]]
        axes.barh(row, option.error, xerr=reach, color=colour, alpha=1.0 if chosen else 0.45)
        label = f"{option.mechanism}: {option.checkins} × {option.batch} samples"
        labels.append(label + " ◂" * chosen)
    axes.set_yticks(range(len(options)), labels)
    axes.axvline(advice.guess_error, color="#000000", linestyle=":", label="guessing")
    axes.axvline(
        advice.central_error, color="#000000", linestyle="--", label="all data in one place"
    )
    axes.set_xlim(0, 1.1 * max(advice.guess_error, *(o.high for o in options)))
    axes.set_xlabel("expected error")
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower right", frameon=False, ncols=2)
    return figure


def draw_epsilons(advice: PilotAdvice, title: str) -> Figure:
    """Draw the error over ε with its spread, beside guessing and the pilot alone."""
    figure = NotebookFigure(7.0, 4.5)
    axes = figure.add_subplot()
    epsilons = [option.epsilon for option in advice.options]
    errors = [option.error for option in advice.options]
    low, high = ([getattr(option, end) for option in advice.options] for end in ("low", "high"))
    axes.fill_between(epsilons, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    people = f"{advice.simulated_devices:,} people (band: the range)"
    axes.plot(epsilons, errors, color=COLOURS[0], marker="o", label=people)
    best = advice.recommended
    axes.plot(
        [best.epsilon],
        [best.error],
        "o",
        color=COLOURS[1],
        ms=9,
        clip_on=False,
        label="recommended ε",
    )
    axes.axhline(advice.guess_error, color="#000000", linestyle=":", label="guessing")
    axes.axhline(advice.pilot_error, color="#000000", linestyle="--", label="the pilot alone")
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_ylim(0, 1.05 * max(advice.guess_error, advice.pilot_error, *high))
    axes.set_xlabel("ε")
    axes.set_ylabel("expected error")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", frameon=False, ncols=2)
    return figure
