"""Write numbers and settings in plain words, the same on every page."""

import math
import time

from markupsafe import Markup

from crowdml.models import MODELS
from crowdml.optim import OPTIMIZERS
from crowdml.portal.words.language import NBSP, localize_number, say
from crowdml.protocol import (
    Estimate,
    State,
    Statistics,
    Task,
    error_in_words,
    estimate_in_words,
    four_digits_up,
    is_precise_enough,
    percent_sure,
    probability_in_words,
    significant,
)


def exactly(value: float) -> str:
    """Write a count unchanged, and a number of a gradient with four decimals.

    >>> exactly(3), exactly(-0.25), exactly(-0.00001)
    ('3', '-0.2500', '0.0000')
    """
    return str(value) if isinstance(value, int) else localize_number(f"{round(value, 4) + 0.0:.4f}")


def model_name(kind: str) -> str:
    """Name a kind of model in words.

    >>> model_name("ridge")
    'Linear regression with squared error'
    """
    return _begun(say(MODELS[kind].words))


def algorithm_name(kind: str) -> str:
    return _begun(say(OPTIMIZERS[kind].words))


def _begun(text: str) -> str:
    """Write a text with a capital letter, to begin a sentence."""
    return text[:1].upper() + text[1:]


def certainty(value: float) -> str:
    r"""Write how sure somebody with a fifty-fifty guess can become if log P/P′ is at most `value`.

    >>> certainty(1.0), certainty(10.0)
    ('73.2\xa0%', '99.9955\xa0%')
    """
    return localize_number(f"{percent_sure(value)}{NBSP}%")


def except_with(probability: float) -> str:
    """Write a small probability as the end of a sentence; empty for 0.

    >>> except_with(1e-6), except_with(0.0)
    (', but for a chance of one in 1,000,000', '')
    """
    if not probability:
        return ""
    return say(", but for a chance of one in {n}", n=count(round(1 / probability)))


def state_name(state: State, version: int) -> str:
    """Name a task's state; a running task that waits for its first check-in is recruiting.

    >>> state_name(State.RUNNING, 0), state_name(State.RUNNING, 9), state_name(State.REACHED, 9)
    ('Recruiting', 'Running', 'Reached its target')
    """
    if state is State.RUNNING and version == 0:
        return say("Recruiting")
    return {
        State.RUNNING: say("Running"),
        State.PAUSED: say("Paused"),
        State.REACHED: say("Reached its target"),
        State.EXHAUSTED: say("Finished"),
        State.STOPPED: say("Stopped"),
    }[state]


def ending(state: State, version: int) -> str:
    """Write why a task has ended, to complete "The task has ended: …".

    >>> ending(State.EXHAUSTED, 1000), ending(State.STOPPED, 9)
    ('all 1,000 check-ins are in', 'its owner stopped it')
    """
    if state is State.EXHAUSTED and version > 1:
        return say("all {n} check-ins are in", n=version)
    return say(state.phrase)


def status_name(status: str) -> str:
    """Name a device's status for the task's owner.

    >>> status_name("left")
    'left'
    """
    return {"active": say("active"), "left": say("left"), "revoked": say("revoked")}[status]


def epsilon(value: float | str | None) -> str:
    """Write an ε, also where JSON has "inf" or null.

    >>> epsilon(1.0), epsilon("inf"), epsilon(None)
    ('1', '∞', '∞')
    """
    return localize_number(four_digits_up(math.inf if value is None else float(value)))


def count(value: int) -> str:
    """Write a whole number with separators.

    >>> count(12345)
    '12,345'
    """
    return localize_number(f"{value:,}")


def number(value: float, digits: int = 3) -> str:
    """Write a number with `digits` significant digits and no exponent.

    >>> number(2980.96)
    '2,980'
    """
    return localize_number(significant(value, digits))


def percent(value: float, digits: int = 0) -> str:
    r"""Write a share as a percentage.

    >>> percent(0.731), percent(0.02, 1)
    ('73\xa0%', '2.0\xa0%')
    """
    return localize_number(f"{100 * value:.{digits}f}{NBSP}%")


def probability(value: float) -> str:
    r"""Write a probability as a percentage with two significant digits.

    >>> probability(0.01183), probability(0.9999), probability(4.2e-18)
    ('1.2\xa0%', '99.99\xa0%', 'practically never')
    """
    return say(probability_in_words(value))


def say_count(n: int, what: str) -> str:
    """Write a number of things.

    >>> say_count(1, "sample"), say_count(5200, "check-in")
    ('1 sample', '5,200 check-ins')
    """
    return say(f"{{n}} {what}" if n == 1 else f"{{n}} {what}s", n=n)


def estimate(value: Estimate | None) -> str:
    r"""Write an estimated share as a range, or why it is unknown.

    >>> estimate(Estimate(0.123, 0.04)), estimate(None), estimate(Estimate(0.5, 0.6))
    ('between 8 and 17\xa0%', 'not known', 'too uncertain')
    """
    return say(estimate_in_words(value))


def error(value: Estimate | None) -> str:
    r"""Write how often a model is wrong.

    >>> error(Estimate(-0.004, 0.121))
    'between 0 and 12\xa0% wrong'
    """
    return say(error_in_words(value))


def wrong_predictions(task: Task, statistics: Statistics) -> str:
    """Write the share of wrong predictions of the current model, or why it is unknown."""
    if is_precise_enough(statistics.error):
        return estimate(statistics.error)
    if not task.terms.mechanism().evaluates:
        return say("not measured")
    return say("not known") if statistics.state.final else say("not known yet")


def when(seconds: int | None) -> str:
    """Write a time in UTC; the page's script then writes it in the reader's time zone.

    >>> print(when(None), when(0))
    never <time datetime="1970-01-01T00:00Z">1970-01-01 00:00 UTC</time>
    """
    if seconds is None:
        return say("never")
    text = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
    exact = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(seconds))
    return Markup('<time datetime="{}">{}</time>').format(exact, text)


FILTERS = {
    word.__name__: word
    for word in (count, epsilon, error, exactly, number, percent, probability, when)
}
"""The functions that templates apply as filters, by name."""
