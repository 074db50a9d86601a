"""The task that both benchmarks use: 500 parameters, minibatches of 20."""

from crowdml.protocol import Task

__all__ = ["BATCH", "CLASSES", "FEATURES", "bench_task"]

FEATURES, CLASSES, BATCH = 50, 10, 20


def bench_task() -> Task:
    labels = ", ".join(f'"{k}"' for k in range(CLASSES))
    return Task.from_toml(f"""
        name = "bench"
        title = "Benchmark"
        objective = "To be measured."
        sensors = "None."
        [features]
        count = {FEATURES}
        [target]
        labels = [{labels}]
        [model]
        kind = "softmax"
        [privacy]
        epsilon = 1.0
        [collection]
        batch = {BATCH}
        buffer = {10 * BATCH}
        [stop]
        updates = 1000000000
        [enrolment]
        checkins_per_minute = 1e12
        """)
