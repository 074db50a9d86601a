"""Measure whether the time of a check-in's work reveals anything about its samples.

    python benchmarks/checkin_time.py [python|javascript|one-file]

For ten pairs of minibatches and a w that is chosen for them, the CPU milliseconds from w to the
number that is sent: the least of `--runs`, both sides in turns, with the ratio of the two.
"""

import argparse
import json
import math
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from crowdml import one_file_device as one_file
from crowdml.models import MODELS, Minibatch
from crowdml.privacy import CheckinKey, DirectionMechanism, SystemChance, bound_features

WEB = Path(__file__).parent.parent / "crowdml" / "web"
CLASSES, FEATURES, BATCH, BUFFER = 100, 33, 20, 200

NODE = """
import { readFileSync } from "node:fs";
const { MODELS, Minibatch, Chance } = await import(WEB + "/index.js");
const { DirectionMechanism } = await import(WEB + "/privacy/direction_mechanism.js");
const { k, runs, pairs } = JSON.parse(readFileSync(0, "utf8"));
const place = { number: 1, seed: [1, 2], roleWord: 2 ** 32 - 1 };
const chance = new Chance();
const sides = pairs.flat().map((side) => {
  const [C, D] = [side.n_classes, side.n_features];
  const model = MODELS[side.kind].make({ intercept: false, tolerance: 1, delta: 1 }, D, C);
  const mechanism = new DirectionMechanism({ epsilon: 1, directions: k, closest: 3,
    size: model.size, nClasses: C, batch: 20, evaluators: 0, counters: 0, scale: 1,
    regularization: side.regularization });
  const x = side.x.map((row) => Float64Array.from(row));
  const w = Float64Array.from(side.w);
  return () => {
    const before = process.cpuUsage();
    const minibatch = new Minibatch(model, w, x, side.y);
    mechanism.makePayload(minibatch, mechanism.event(x.length, place), place, chance);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
});
for (let i = 0; i < 3; i++) sides.forEach((side) => side());
const times = sides.map(() => []);
for (let i = 0; i < runs; i++) sides.forEach((side, j) => times[j].push(side()));
console.log(JSON.stringify(times));
"""

Side = dict[str, Any]


def pairs() -> Iterator[tuple[str, Side, Side]]:
    """Return each pair's name and its two sides; w is the same for both sides."""
    rng = np.random.default_rng(0)
    up = np.zeros(FEATURES)
    up[0], up[1:] = 0.6, 0.01 * rng.normal(size=FEATURES - 1)
    down, none, tiny = np.array(up), np.zeros(FEATURES), np.array(up)
    down[0] *= -1
    tiny[1:] = 5e-324

    def apart(score: float) -> list[float]:
        """Return a w whose other scores are below the first for `up`, and above it for `down`."""
        w = np.zeros((CLASSES, FEATURES))
        w[1:, 0] = -score / 0.6
        return w.astype(np.float32).astype(float).ravel().tolist()

    def side(x: Any, w: list[float], n: int = BATCH, y: float = 0, **more: Any) -> Side:
        usual = {"kind": "softmax", "n_classes": CLASSES, "regularization": 0.0}
        return {
            **usual, **more, "n_features": FEATURES, "w": w, "y": [y] * n,
            "x": [bound_features(x, FEATURES, 2).tolist()] * n,
        }  # fmt: skip

    for name, w, first, second in (
        ("subnormal slopes or none", apart(730.0), up, none),
        ("subnormal slopes or a mixture", apart(740.0), up, down),
        ("slopes of 0 or none", apart(5000.0), up, none),
        ("all zeros or not", apart(1.0), none, up),
        ("the largest w", [3.4e38, -3.4e38] * (CLASSES * FEATURES // 2), up, none),
        ("the smallest w", [1e-45] * (CLASSES * FEATURES), up, none),
        ("subnormal features or none", apart(1.0), tiny, up),
    ):
        yield name, side(first, w), side(second, w)
    hinge: dict[str, Any] = {"kind": "hinge", "regularization": 1e-310}
    yield "hinge, subnormal λw", side(up, apart(50.0), **hinge), side(down, apart(50.0), **hinge)
    real: dict[str, Any] = {"kind": "ridge", "n_classes": 0}
    w = [1.0] + [0.0] * (FEATURES - 1)
    yield "residual 0 or 10¹²", side(up, w, y=0.6, **real), side(up, w, y=1e12, **real)
    yield f"n = {BATCH} or {BUFFER}", side(up, apart(1.0)), side(up, apart(1.0), BUFFER)


def in_python(case: Side, k: int) -> Callable[[], object]:
    model = MODELS[case["kind"]].model(FEATURES, case["n_classes"], False, tolerance=1.0, delta=1.0)
    mechanism = DirectionMechanism(
        1.0, k, 3, size=model.size, n_classes=case["n_classes"],
        regularization=case["regularization"],
    )  # fmt: skip
    w, x, y = (np.array(case[name], dtype=float) for name in "wxy")
    key, chance = CheckinKey("00", "ana", 1), SystemChance()
    event = mechanism.event(len(x), key)
    return lambda: mechanism.make_payload(Minibatch(model, w, x, y), event, key, chance)


def in_one_file(case: Side, k: int) -> Callable[[], object]:
    scores = max(case["n_classes"], 1)
    terms: Any = SimpleNamespace(
        D=FEATURES, C=case["n_classes"], K=scores, d=scores * FEATURES, k=k, t=3, S=0.015,
        epsilon=1.0, kind=case["kind"], intercept=False, delta=1.0,
        regularization=case["regularization"],
    )  # fmt: skip
    samples = list(zip(case["x"], case["y"], strict=True))
    return lambda: one_file.make_payload(terms, "00\nana\n1", case["w"], samples, "train")


def in_javascript(every: list[tuple[Side, Side]], k: int, runs: int) -> list[list[float]]:
    command = ["node", "--input-type=module", "-e", f'const WEB = "{WEB}";{NODE}']
    given = json.dumps({"k": k, "runs": runs, "pairs": every})
    output = subprocess.run(command, check=True, capture_output=True, input=given.encode()).stdout
    found: list[list[float]] = json.loads(output)
    return found


def measured(works: list[Callable[[], object]], runs: int) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, own in zip(works, times, strict=True):
            before = time.process_time()
            work()
            own.append(1e3 * (time.process_time() - before))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("language", nargs="?", default="python")
    parser.add_argument("--directions", type=int, default=4096)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    named = list(pairs())
    every = [(first, second) for _, first, second in named]
    if args.language == "javascript":
        times = in_javascript(every, args.directions, args.runs)
    else:
        made = in_python if args.language == "python" else in_one_file
        works = [made(side, args.directions) for pair in every for side in pair]
        times = measured(works, args.runs)
    print("| pair | first side, ms | second side, ms | ratio |\n|---|---|---|---|")
    for (name, *_), first, second in zip(named, times[::2], times[1::2], strict=True):
        one, two = min(first), min(second)
        ratio = max(one, two) / max(min(one, two), math.ulp(1.0))
        print(f"| {name} | {one:.1f} | {two:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
