"""How far devices that lie can push a model, with the noise on, past each defence.

Run: CROWDML_DATA=… python experiments/poisoning/poisoning.py [MECHANISM …]
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from crowdml.models import Softmax
from crowdml.optim import UsualLength
from crowdml.privacy import DirectionMechanism, NoiseMechanism, Roles
from crowdml.protocol import MECHANISMS, Conditions, Wanted
from crowdml.server.fold import first_limit
from crowdml.server.shares import Shares
from crowdml.simulation import Crowd, Dataset, Learning, load_dataset
from crowdml.simulation.hiding import Hiding
from crowdml.simulation.settings import Rule
from crowdml.simulation.trial import prepare
from crowdml.types import Array, Ints
from tests.privacy.pseudo import Pseudo

BATCH, EPSILON, TRIALS = 60, 10.0, 3
SHARES = (0.01, 0.05, 0.1, 0.2)
DEFENCES = ("gate", "usual length", "both caps")


@dataclass
class Server:
    """What stands between a check-in and the model, the gate's plausible values apart.

    Args:
        rule: What is learnt, and how gradients are hidden.
        defence: One of `DEFENCES`.
    """

    rule: Rule
    defence: str

    def __post_init__(self) -> None:
        mechanism = self.rule.hiding.mechanism
        noisy = isinstance(mechanism, NoiseMechanism) and self.defence != "gate"
        self.usual = UsualLength(first_limit(mechanism)) if noisy else None
        self.shares = Shares() if self.defence == "both caps" else None
        self.refused: Counter[str] = Counter()

    def takes(self, device: int, who: str) -> bool:
        if self.shares is None:
            return True
        if self.shares.used_up(device):
            self.refused[who] += 1
            return False
        self.shares.add(device, 0)
        return True

    def read(self, g: Array) -> Array:
        return g if self.usual is None else self.usual.shortened(g)


Lie = Callable[[Hiding, Array, Array, np.random.Generator], Array]
"""What a liar sends: of how gradients are hidden, of its own average gradient, and of a direction
on which all liars have agreed."""


def honest(hiding: Hiding, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    return hiding.hide(g, BATCH, hiding.draws(1, rng)[0], rng)


def sign_flip(hiding: Hiding, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """The opposite, as hard as the rules allow without standing out: the worst of k directions, or
    −S with the noise that is due."""
    if isinstance(hiding.mechanism, DirectionMechanism):
        return push(hiding, -g, agreed, rng)
    length = np.linalg.norm(g, hiding.norm)
    return honest(hiding, -g * (hiding.length / length), agreed, rng)


def push(hiding: Hiding, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """The best of k directions for g, or the largest plausible value of each number."""
    mechanism = hiding.mechanism
    if isinstance(mechanism, DirectionMechanism):
        best = -ndtri(rng.beta(1, mechanism.directions))
        return hiding.hide(g * (1e9 / np.linalg.norm(g)), BATCH, np.array([best, 1.0]), rng)
    assert isinstance(mechanism, NoiseMechanism)
    most = mechanism.plausible_gradient(BATCH) * 2.0 ** mechanism.grid(BATCH)
    return np.sign(g) * most


def largest(hiding: Hiding, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    return push(hiding, -g, agreed, rng)


def drift(hiding: Hiding, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """All liars to the same side, always."""
    if isinstance(hiding.mechanism, DirectionMechanism):
        return push(hiding, agreed, agreed, rng)
    return honest(
        hiding, agreed * (hiding.length / np.linalg.norm(agreed, hiding.norm)), agreed, rng
    )


LIES: dict[str, Lie] = {
    "label flip": honest,
    "sign flip": sign_flip,
    "drift": drift,
    "largest values": largest,
    "many enrolments": sign_flip,
    "one floods": sign_flip,
}


def crowd_of(
    name: str, share: float, devices: int, rng: np.random.Generator
) -> Iterator[tuple[int, bool]]:
    """Who checks in, in which order, and whether it lies.

    Liars take the place of honest devices, or come on top of them where one person enrols many
    times, or one device sends all that they would.
    """
    n_liars = round(share * devices)
    if name not in ("many enrolments", "one floods"):
        liars = set(rng.choice(devices, n_liars, replace=False).tolist())
        yield from ((i, i in liars) for i in rng.permutation(devices).tolist())
        return
    extra = round(devices * share / (1 - share))
    for i in rng.permutation(devices + extra).tolist():
        yield (devices if name == "one floods" and i >= devices else i), i >= devices


def run(
    data: Dataset, mechanism: str, name: str, share: float, defence: str, seed: int
) -> dict[str, float]:
    """One trial: the test error, and the share of honest check-ins that were refused."""
    rng = np.random.default_rng([seed, 7])
    devices = len(data.y_train) // BATCH
    learning = Learning(mechanism=mechanism, epsilon=EPSILON)
    schedule = prepare(data, Crowd(devices, BATCH), rng)
    rule = learning.rule(data, schedule)
    model, hiding, optimizer = rule.model, rule.hiding, learning.make_optimizer(rule)
    seen, server = data.bounded(hiding.norm), Server(rule, defence)
    agreed, w = rng.standard_normal(model.size), np.zeros(model.size)
    state, lie = optimizer.init(w), LIES[name]
    for device, lies in crowd_of(name, share, devices, rng):
        rows = _samples(schedule.used, schedule.start, device % devices)
        x, y = seen.x_train[rows], seen.y_train[rows]
        if not server.takes(device, "liar" if lies else "honest"):
            continue
        if lies and name == "label flip":
            y = (y + 1) % model.n_classes
        g = model.mean_gradient(w, x, y, hiding.clip, hiding.norm)
        told = (lie if lies else honest)(hiding, g, agreed, rng)
        state, w = optimizer.update(state, w, server.read(told), device)
    x, y = data.bounded_test(hiding.norm)
    error = float(model.mistakes(optimizer.model(state, w), x, y).mean())
    return {"error": error, "refused": server.refused["honest"] / devices}


def _samples(used: Ints, start: Ints, i: int) -> Ints:
    rows: Ints = used[start[i] : start[i + 1]]
    return rows


def cell(data: Dataset, **case: Any) -> dict[str, Any]:
    """The mean over trials of everything that a trial finds."""
    found = [run(data, seed=seed, **case) for seed in range(TRIALS)]
    return case | {key: float(np.mean([one[key] for one in found])) for key in found[0]}


TRUE_ERROR, REPORTS = 0.13, 100_000


def inflated(mechanism: str, share: float, rng: np.random.Generator) -> tuple[float, float]:
    """The error that the crowd's counts show if liars count as many errors as the gate lets in.

    Of all counts as they are, and of counts that are cut to what is possible first.
    """
    terms = MECHANISMS[mechanism].terms.of(Wanted(EPSILON))
    made = terms.make(Conditions(Softmax(50, 10), batch=BATCH, roles=Roles(0.9)))
    liars = rng.random(REPORTS) < share
    if isinstance(made, NoiseMechanism):
        n, excess = BATCH, made.plausible_excess[0]
        noise = Pseudo(0).laplace if made.law.pure else Pseudo(0).gaussian
        scale = 1 / made.law.strength(made.levels.errors)
        counts = rng.binomial(n, TRUE_ERROR, REPORTS) + noise((REPORTS,), scale)
        counts = np.where(liars, n + excess, counts)
        raw = float(counts.mean()) / n
    else:
        assert isinstance(made, DirectionMechanism)
        n, (low, _), (high, _) = 1, made.counted_at(0.0, 1), made.counted_at(1.0, 1)
        counts = rng.random(REPORTS) < low + TRUE_ERROR * (high - low)
        counts = np.where(liars, 1, counts)
        raw = (float(counts.mean()) - low) / (high - low)
    cut = float(np.clip(counts, 0, n).mean())
    return raw, brentq(lambda error: made.counted_at(error, n)[0] - cut, 0.0, 1.0)


def table(cells: list[dict[str, Any]], defence: str) -> str:
    lines = [
        f"| {defence} | {' | '.join(f'{share:.0%}' for share in SHARES)} |",
        "|---|" + "---|" * len(SHARES),
    ]
    for name in LIES:
        row = [one for one in cells if (one["name"], one["defence"]) == (name, defence)]
        lines.append(f"| {name} | {' | '.join(format(one['error'], '.3f') for one in row)} |")
    return "\n".join(lines)


def main(mechanisms: list[str]) -> None:
    data = load_dataset("mnist")
    for mechanism in mechanisms:
        clean = cell(data, mechanism=mechanism, name="sign flip", share=0.0, defence="gate")
        print(f"## {mechanism}: {clean['error']:.3f} without liars\n", flush=True)
        cells = []
        for defence in DEFENCES:
            for name in LIES:
                for share in SHARES:
                    case = {"name": name, "share": share, "defence": defence}
                    cells.append(cell(data, mechanism=mechanism, **case))
                    print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
            print(table(cells, defence), "\n", flush=True)
        shown = [inflated(mechanism, share, np.random.default_rng(0)) for share in (0.0, *SHARES)]
        for what, errors in zip(("as they are", "cut"), zip(*shown, strict=True), strict=True):
            print(
                f"Counts {what}: {', '.join(format(error, '.2f') for error in errors)}", flush=True
            )
        most = max(one["refused"] for one in cells)
        print(f"Honest check-ins refused: {most:.2%} at most.\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["direction", "gaussian", "laplace"])
