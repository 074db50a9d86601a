"""Measure how far devices that lie can push a model, with noise, past each defence.

Run: CROWDML_DATA=… python experiments/poisoning/poisoning.py [MECHANISM …]
and python experiments/poisoning/poisoning.py activity
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

from crowdml.learning import UsualLength, length_limit
from crowdml.models import Softmax
from crowdml.privacy import DirectionMechanism, NoiseMechanism, Roles, StandIn
from crowdml.protocol import MECHANISMS, Conditions, WantedPrivacy
from crowdml.server.log.device_shares import DeviceShares
from crowdml.simulation import Crowd, Dataset, Learning, load_dataset
from crowdml.simulation.learning_setup import LearningSetup
from crowdml.simulation.trial import schedule_of_crowd
from crowdml.types import Array, Ints
from tests.privacy.seeded_chance import SeededChance

BATCH, EPSILON, TRIALS = 60, 10.0, 3
SHARES = (0.01, 0.05, 0.1, 0.2)
DEFENCES = ("gate", "usual length", "both caps")


@dataclass
class Server:
    """Apply the defences between a check-in and the model, besides the gate's plausible values.

    Args:
        setup: What is learnt, and how gradients are hidden.
        defence: One of `DEFENCES`.
    """

    setup: LearningSetup
    defence: str

    def __post_init__(self) -> None:
        mechanism = self.setup.stand_in.mechanism
        limit = None if self.defence == "gate" else length_limit(mechanism)
        self.usual = None if limit is None else UsualLength(limit)
        self.shares = DeviceShares() if self.defence == "both caps" else None
        self.rejected: Counter[str] = Counter()

    def takes(self, device: int, who: str) -> bool:
        if self.shares is None:
            return True
        if self.shares.has_used_up(device):
            self.rejected[who] += 1
            return False
        self.shares.add(device, 0)
        return True

    def read(self, g: Array) -> Array:
        if self.usual is not None:
            self.usual, g = self.usual.shorten(g)
        return g


Lie = Callable[[StandIn, Array, Array, np.random.Generator], Array]
"""What a liar sends: of how gradients are hidden, of its own average gradient, and of a direction
on which all liars have agreed."""


def honest(stand_in: StandIn, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    return stand_in.hide(g, BATCH, stand_in.draws(1, rng)[0], rng)


def sign_flip(stand_in: StandIn, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """Send the opposite, as hard as the rules allow without being noticed.

    That is the worst of k directions, or −S with the noise that is due.
    """
    if isinstance(stand_in.mechanism, DirectionMechanism):
        return push(stand_in, -g, agreed, rng)
    length = np.linalg.norm(g, stand_in.norm)
    return honest(stand_in, -g * (stand_in.length / length), agreed, rng)


def push(stand_in: StandIn, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """Send the best of k directions for g, or the largest plausible value of each number."""
    mechanism = stand_in.mechanism
    if isinstance(mechanism, DirectionMechanism):
        best = -ndtri(rng.beta(1, mechanism.directions))
        return stand_in.hide(g * (1e9 / np.linalg.norm(g)), BATCH, np.array([best, 1.0]), rng)
    assert isinstance(mechanism, NoiseMechanism)
    return np.sign(g) * mechanism.largest_plausible(BATCH)


def largest(stand_in: StandIn, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    return push(stand_in, -g, agreed, rng)


def drift(stand_in: StandIn, g: Array, agreed: Array, rng: np.random.Generator) -> Array:
    """Push always to the side on which all liars have agreed."""
    if isinstance(stand_in.mechanism, DirectionMechanism):
        return push(stand_in, agreed, agreed, rng)
    return honest(
        stand_in, agreed * (stand_in.length / np.linalg.norm(agreed, stand_in.norm)), agreed, rng
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
    """Draw who checks in, in which order, and whether the device lies.

    Liars replace honest devices, or are added to them: one person enrols many times, or one device
    sends what all of these devices would send.
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
    """Run one trial: the test error, and the share of honest check-ins that were rejected."""
    rng = np.random.default_rng([seed, 7])
    learning = Learning(mechanism=mechanism, epsilon=EPSILON)
    schedule = schedule_of_crowd(data, Crowd(len(data.y_train) // BATCH, BATCH), rng)
    devices = schedule.n_checkins
    setup = LearningSetup.of(learning, data, schedule)
    model, stand_in, optimizer = setup.model, setup.stand_in, setup.optimizer
    seen, server = data.bounded(stand_in.norm), Server(setup, defence)
    agreed, w = rng.standard_normal(model.size), np.zeros(model.size)
    state, lie = optimizer.init(w), LIES[name]
    for device, lies in crowd_of(name, share, devices, rng):
        rows = _samples(schedule.used, schedule.start, device % devices)
        x, y = seen.x_train[rows], seen.y_train[rows]
        if not server.takes(device, "liar" if lies else "honest"):
            continue
        if lies and name == "label flip":
            y = (y + 1) % model.n_classes
        g = model.mean_gradient(w, x, y, stand_in.clip, stand_in.norm)
        sent = (lie if lies else honest)(stand_in, g, agreed, rng)
        state, w = optimizer.update(state, w, server.read(sent), device)
    x, y = data.bounded_test(stand_in.norm)
    error = float(model.mistakes(optimizer.model(state, w), x, y).mean())
    return {"error": error, "rejected": server.rejected["honest"] / devices}


def _samples(used: Ints, start: Ints, i: int) -> Ints:
    rows: Ints = used[start[i] : start[i + 1]]
    return rows


def cell(data: Dataset, **case: Any) -> dict[str, Any]:
    """Average everything that a trial finds over trials."""
    found = [run(data, seed=seed, **case) for seed in range(TRIALS)]
    return case | {key: float(np.mean([one[key] for one in found])) for key in found[0]}


TRUE_ERROR, REPORTS = 0.13, 100_000


def inflated(mechanism: str, share: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the error that the counts show if liars count as many errors as the gate accepts.

    There is a figure for all counts as they are, and one for counts that are first cut to what is
    possible.
    """
    terms = MECHANISMS[mechanism].terms.of(WantedPrivacy(EPSILON))
    made = terms.make(Conditions(Softmax(50, 10), batch=BATCH, roles=Roles(0.9)))
    liars = rng.random(REPORTS) < share
    if isinstance(made, NoiseMechanism):
        n, excess = BATCH, made.plausible_excess[0]
        noise = SeededChance(0).laplace if made.law.pure else SeededChance(0).gaussian
        scale = 1 / made.law.strength(made.levels.errors)
        counts = rng.binomial(n, TRUE_ERROR, REPORTS) + noise((REPORTS,), scale)
        counts = np.where(liars, n + excess, counts)
        raw = float(counts.mean()) / n
    else:
        assert isinstance(made, DirectionMechanism)
        n, (low, _), (high, _) = 1, made.error_count_law(0.0, 1), made.error_count_law(1.0, 1)
        counts = rng.random(REPORTS) < low + TRUE_ERROR * (high - low)
        counts = np.where(liars, 1, counts)
        raw = (float(counts.mean()) - low) / (high - low)
    cut = float(np.clip(counts, 0, n).mean())
    return raw, brentq(lambda error: made.error_count_law(error, n)[0] - cut, 0.0, 1.0)


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
        most = max(one["rejected"] for one in cells)
        print(f"Honest check-ins rejected: {most:.2%} at most.\n", flush=True)


def one_in_ten(batch: int = 10, epsilon: float = 4.0, trials: int = 20) -> None:
    """Compute the figures that an owner reads who chooses noise for an open task."""
    global BATCH, EPSILON, TRIALS
    BATCH, EPSILON, TRIALS = batch, epsilon, trials
    data, names = load_dataset("activity"), ("label flip", "sign flip", "drift", "largest values")
    print(f"| | no liars | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for mechanism in ("direction", "gaussian", "laplace"):
        cases = [("sign flip", 0.0), *((name, 0.1) for name in names)]
        errors = [
            cell(data, mechanism=mechanism, name=name, share=share, defence="both caps")["error"]
            for name, share in cases
        ]
        print(f"| {mechanism} | {' | '.join(format(error, '.3f') for error in errors)} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["activity"]:
        one_in_ten()
    else:
        main(sys.argv[1:] or ["direction", "gaussian", "laplace"])
