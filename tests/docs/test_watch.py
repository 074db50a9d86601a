"""Check that dashboard, Prometheus and page use existing metrics, and the page explains all."""

import json
import re

import pytest
import yaml

from crowdml.protocol import PROBLEMS
from crowdml.server.http.metrics import FAMILIES
from tests.docs.pages import ROOT, page, table_rows

WATCH = page("docs/watch.md")
FOLDER = ROOT / "examples" / "grafana"
DASHBOARD = json.loads((FOLDER / "crowdml.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
ALERTS = [cells[0].strip("`") for cells in table_rows(WATCH.partition("## Alerts")[2])]
SERIES = {
    name + ending
    for name, (kind, _) in FAMILIES.items()
    for ending in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
}


@pytest.mark.parametrize(
    "expression", EXPRESSIONS + [each for each in ALERTS if "crowdml_" in each]
)
def test_what_is_asked_for_exists(expression: str) -> None:
    asked = set(re.findall(r"crowdml_\w+", expression))
    assert asked
    assert asked <= SERIES
    assert set(re.findall(r'kind="([^"]*)"', expression)) <= PROBLEMS.keys()
    counters = {name for name in asked if name.endswith(("_total", "_bucket", "_sum", "_count"))}
    for counter in counters:
        assert re.search(rf"(rate|increase)\({counter}\b", expression), "a counter needs a rate"
    assert expression.count("(") == expression.count(")")


def test_the_dashboard_shows_everything() -> None:
    shown = set(re.findall(r"crowdml_\w+", " ".join(EXPRESSIONS)))
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in shown} == FAMILIES.keys()
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_page_explains_every_metric() -> None:
    rows = {cells[0].strip("`"): cells[1] for cells in table_rows(WATCH)}
    explained = {name: kind for name, kind in rows.items() if name in FAMILIES}
    assert explained == {name: kind for name, (kind, _) in FAMILIES.items()}


def test_the_lines_for_prometheus() -> None:
    (job,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    assert job.get("metrics_path", "/metrics") == "/metrics"
    assert job["job_name"] == "crowdml"
    assert 'up{job="crowdml"} == 0' in ALERTS
