"""The tasks of the benchmarks; where nothing else is said, 500 parameters and minibatches of 20."""

from crowdml.protocol import Task

__all__ = ["BATCH", "CLASSES", "FEATURES", "bench_task"]

FEATURES, CLASSES, BATCH = 50, 10, 20


def bench_task(
    name: str = "bench",
    features: int = FEATURES,
    classes: int = CLASSES,
    batch: int = BATCH,
    mechanism: str = "direction",
) -> Task:
    numbered = (
        "checkins = 1000000\nevaluators = 0\ncounters = 0" if mechanism == "direction" else ""
    )
    labels = ", ".join(f'"{k}"' for k in range(classes))
    return Task.from_toml(f"""
        name = "{name}"
        title = "Benchmark"
        objective = "To be measured."
        owner = "The benchmark"
        contact = "none"
        purpose = "To be measured."
        sensors = "None."
        [features]
        count = {features}
        [target]
        labels = [{labels}]
        [model]
        kind = "softmax"
        [privacy]
        mechanism = "{mechanism}"
        epsilon = {1e6 if numbered else 1.0}
        [collection]
        batch = {batch}
        {numbered}
        [stop]
        updates = 1000000000
        [enrolment]
        checkins_per_minute = 1e12
        """)
