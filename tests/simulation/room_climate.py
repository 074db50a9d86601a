"""Draw readings of a room in %, °C, lux and hours, and labels: cold, fine or warm."""

import numpy as np

from crowdml.pilot import fit_start
from crowdml.privacy import bound_rows
from crowdml.protocol import Features
from crowdml.simulation import Dataset, StartPoint, model_for
from crowdml.simulation.crowd_settings import Learning
from crowdml.types import Array, Ints

CLIMATE = ("cold", "fine", "warm")
LabelledReadings = tuple[Array, Array, Ints]


def labelled_readings(people: int, each: int, rng: np.random.Generator) -> LabelledReadings:
    """Draw `each` readings of every person, the person's labels, and whose they are.

    "fine" lies in the middle of the readings, between "cold" and "warm". People differ in what they
    find warm.
    """
    person = np.repeat(np.arange(people), each)
    z = rng.normal(size=(len(person), 2))
    light, hours = rng.lognormal(5.5, 0.6, len(person)), rng.uniform(0, 12, len(person))
    felt = z[:, 1] + 0.5 * z[:, 0] + rng.normal(0, 0.1, people)[person]
    felt += rng.normal(0, 0.1, len(person))
    x = np.column_stack([45 + 12 * z[:, 0], 21 + 3 * z[:, 1], light, hours])
    return x, (felt > -0.6) + (felt > 0.6) * 1.0, person


def after_a_pilot(
    seed: int, intercept: bool, pilot: tuple[int, int] = (2, 90)
) -> tuple[Dataset, StartPoint]:
    """Draw 120 people with 40 readings each, and a start; all constants come from the pilot."""
    rng = np.random.default_rng(seed)
    (x, y, person), (x_train, y_train, crowd), (x_test, y_test, _) = (
        labelled_readings(*size, rng) for size in (pilot, (120, 40), (100, 40))
    )
    center, scale = x.mean(axis=0), x.std(axis=0)
    length = np.quantile(np.linalg.norm((x - center) / scale, axis=1), 0.9)
    features = Features(
        4, center=tuple(center.tolist()), scale=tuple(scale.tolist()), length=float(length)
    )
    train, test = features.scaled_rows(x_train), features.scaled_rows(x_test)
    data = Dataset("climate", CLIMATE, train, y_train, crowd, test, y_test)
    model = model_for(Learning(intercept=intercept), data)
    fitted = fit_start(model, bound_rows(features.scaled_rows(x), 2), y, person, seed=seed)
    return data, StartPoint(tuple(fitted.w.tolist()), fitted.distance, len(y), pilot[0])
