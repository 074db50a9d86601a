"""Prometheus metrics, in its text format."""

from crowdml.server.service import Service

__all__ = ["metrics"]


def metrics(service: Service) -> str:
    lines = [
        "# HELP crowdml_checkins_total Check-ins applied since the start of the process.",
        "# TYPE crowdml_checkins_total counter",
        f"crowdml_checkins_total {service.checkins}",
        "# HELP crowdml_refusals_total Requests refused since the start of the process.",
        "# TYPE crowdml_refusals_total counter",
        f"crowdml_refusals_total {service.refusals}",
        "# HELP crowdml_task_version Check-ins that a task's parameters have taken in.",
        "# TYPE crowdml_task_version gauge",
        "# HELP crowdml_task_devices Devices enrolled in a task.",
        "# TYPE crowdml_task_devices gauge",
    ]
    for learner in service.learners():
        label = f'{{task="{learner.task.name}"}}'
        lines.append(f"crowdml_task_version{label} {learner.version}")
        lines.append(f"crowdml_task_devices{label} {learner.devices}")
    return "\n".join(lines) + "\n"
