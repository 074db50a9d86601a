"""Write the Prometheus metrics of all nodes, in text format 0.0.4."""

from collections.abc import Iterator, Sequence

from crowdml.server.database import NodeRow

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FRESH_SECONDS = 15
"""Seconds since its last heartbeat for which a node counts as alive."""

FAMILIES = {
    "crowdml_checkins_total": ("counter", "Check-ins applied by a node, by task."),
    "crowdml_rejections_total": ("counter", "Requests rejected by a node, by kind of problem."),
    "crowdml_database_failures_total": ("counter", "Uses of the database that failed."),
    "crowdml_checkin_staleness": (
        "histogram",
        "Versions between the check-out and the check-in of what was applied, by task.",
    ),
    "crowdml_commit_seconds": ("histogram", "Time to decide on a group and to have it on disk."),
    "crowdml_commit_checkins": ("histogram", "Check-ins that shared a commit."),
    "crowdml_listeners": ("gauge", "Event streams that are open."),
    "crowdml_fold_lag_checkins": (
        "gauge",
        "Check-ins in the log of a task that a node had not applied yet at its last heartbeat.",
    ),
    "crowdml_task_version": ("gauge", "Check-ins that a task's parameters have taken in."),
    "crowdml_task_devices": ("gauge", "Devices enrolled in a task."),
    "crowdml_task_state": ("gauge", "1 for the state that a task is in, 0 for the others."),
    "crowdml_node_start_time_seconds": ("gauge", "When a node started, since 1970."),
    "crowdml_node_seen_time_seconds": ("gauge", "When a node last wrote its row, since 1970."),
    "crowdml_nodes": ("gauge", f"Nodes that wrote their row within {FRESH_SECONDS} seconds."),
}
"""The type and the description of each metric."""


def metrics(nodes: Sequence[NodeRow]) -> str:
    lines: dict[str, list[str]] = {
        family: [f"# HELP {family} {text}", f"# TYPE {family} {kind}"]
        for family, (kind, text) in FAMILIES.items()
    }
    for family, line in _lines(nodes):
        # A node of a later version may count something that this version does not know.
        lines.get(family, []).append(line)
    return "\n".join(line for group in lines.values() for line in group) + "\n"


def _lines(nodes: Sequence[NodeRow]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        for family, ending, labels, value in node.values:
            named = ",".join(f'{k}="{v}"' for k, v in ({"node": node.name} | labels).items())
            yield family, f"{family}{ending}{{{named}}} {value}"
        for family, when in (
            ("crowdml_node_start_time_seconds", node.started),
            ("crowdml_node_seen_time_seconds", node.seen),
        ):
            yield family, f'{family}{{node="{node.name}"}} {when}'
    yield "crowdml_nodes", f"crowdml_nodes {sum(node.age <= FRESH_SECONDS for node in nodes)}"
