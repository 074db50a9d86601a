"""Simulate devices that learn alone, for comparison with the crowd."""

import math
from dataclasses import replace

import numpy as np

from crowdml.protocol import MECHANISMS
from crowdml.simulation.baselines import measure
from crowdml.simulation.crowd_settings import Crowd, Learning
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fold import learn
from crowdml.simulation.learning_setup import LearningSetup, model_for
from crowdml.simulation.schedule import one_by_one

MOST_POINTS, MOST_TESTS = 6, 2000


def decentralized(
    data: Dataset, crowd: Crowd, learning: Learning, seed: tuple[int, ...], points: int
) -> Curve:
    """Let every device learn alone from its own samples, and average the errors over devices.

    Nothing leaves a device, so there is no noise, and ε is 0. Since every device has a model of its
    own to test, errors are measured at no more than 6 points, on at most 2,000 test samples.

    Paper: Section V-C, "Decentral (SGD)".
    """
    rng = np.random.default_rng(seed)
    learning = replace(learning, epsilon=math.inf, limits_length=False)
    hands = data.deal(crowd.devices, rng, crowd.skew, crowd.spread)
    model, norm = model_for(learning, data), MECHANISMS[learning.mechanism].terms.norm
    x_test, y_test = (part[:MOST_TESTS] for part in data.bounded_test(norm))
    shares = np.linspace(0.0, 1.0, min(points, MOST_POINTS) + 1)
    errors, online = np.zeros(len(shares)), np.zeros(len(shares))
    rmse, c = np.zeros(0 if model.n_classes else len(shares)), 0.0
    orders = [np.concatenate([rng.permutation(own) for _ in range(crowd.passes)]) for own in hands]
    for rows in orders:
        schedule = one_by_one(len(rows), crowd.batch)
        stops = (shares * schedule.n_checkins).astype(np.int64)
        alone = data.take(rows)
        w, wrong = learn(alone, schedule, learning, stops, rng)
        found = measure(model, w, (x_test, y_test))
        errors, rmse = errors + found[0], rmse + found[1]
        c += (LearningSetup.of(learning, alone, schedule).spec.c or 0.0) / len(hands)
        online += np.cumsum([0, *wrong])[stops] / np.maximum(schedule.start[stops], 1)
    samples = (shares * len(data.y_train) * crowd.passes).astype(np.int64)
    errors, online, rmse = (part[None] / len(hands) for part in (errors, online, rmse))
    return Curve(samples, errors, online, rmse, c=c)
