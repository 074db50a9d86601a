"""Set training samples aside as a pilot."""

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.dataset import Dataset

USUAL_PEOPLE = 2
"""People of a pilot, where the data say whose samples they are."""


def set_aside(
    data: Dataset, rows: int, people: int | None, rng: np.random.Generator
) -> tuple[Dataset, Dataset]:
    """Set `rows` training samples aside as a pilot; return the pilot's data and the crowd's.

    Where the data say whose samples they are, the pilot is about `rows / people` samples of each of
    `people` people (2 by default), whose other samples are left out of both. Otherwise it is `rows`
    random samples.

    >>> from crowdml.simulation.datasets import load_activity
    >>> pilot, rest = set_aside(load_activity(), 120, None, np.random.default_rng(0))
    >>> [len(np.unique(part.person)) for part in (pilot, rest)], len(pilot.y_train)
    ([2, 16], 120)
    """
    names, n = np.unique(data.person), len(data.y_train)
    if len(names) == 1 and people is not None:
        raise InvalidInput(
            f"a pilot of {people} people needs data with people, and {data.name} does not say "
            "whose samples they are. Leave out pilot_people."
        )
    chosen = np.zeros(n, np.bool_)
    if len(names) == 1:
        if not rows < n:
            raise InvalidInput(
                f"the pilot must be fewer than the {n:,} samples of {data.name}, found {rows:,}."
            )
        chosen[rng.permutation(n)[:rows]] = True
        return data.take(chosen), data.take(~chosen)
    people = USUAL_PEOPLE if people is None else people
    if not people < len(names):
        raise InvalidInput(
            f"the pilot must be fewer than the {len(names)} people of {data.name}, found {people}."
        )
    pilot = rng.permutation(names)[:people]
    for number, name in enumerate(pilot):
        own = rng.permutation(np.flatnonzero(data.person == name))
        chosen[own[: (rows + number) // people]] = True
    return data.take(chosen), data.take(~np.isin(data.person, pilot))
