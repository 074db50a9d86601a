"""Define the tasks of the benchmarks: 500 parameters and minibatches of 20 unless stated."""

from crowdml.protocol import MECHANISMS, Task

FEATURES, CLASSES, BATCH = 50, 10, 20


def bench_task(
    name: str = "bench",
    features: int = FEATURES,
    classes: int = CLASSES,
    batch: int = BATCH,
    mechanism: str = "direction",
) -> Task:
    wanted = {"checkins": 1_000_000, "evaluators": 0, "counters": 0}
    options = MECHANISMS[mechanism].options
    collection = [f"{k} = {v}" for k, v in wanted.items() if f"collection.{k}" in options]
    newline = "\n"
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
        epsilon = {1e6 if collection else 1.0}
        [collection]
        batch = {batch}
        {newline.join(collection)}
        [stop]
        updates = 1000000000
        [enrolment]
        checkins_per_minute = 1e12
        """)
