"""Pictures and numbers to keep, fetched without a browser."""

import csv
import io
import json
from typing import Any

import pytest
from PIL import Image

from tests.support.servers import HttpClient, problem_kind

CHARTS = ["error", "labels", "pace", "staleness", "devices"]
PAGE = "text/html,*/*;q=0.8"


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_in_three_formats(wire: HttpClient, name: str) -> None:
    base = f"/tasks/walking/charts/{name}"
    svg = wire.get(f"{base}.svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert b"<svg " in svg.body
    assert b"<script" not in svg.body
    assert wire.get(f"{base}.svg?theme=dark").body != svg.body
    png = wire.get(f"{base}.png?save")
    assert png.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(png.body)).size == (1440, 810)
    table = wire.get(f"{base}.csv?save")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    for reply, kind in [(png, "png"), (table, "csv")]:
        disposition = reply.headers["content-disposition"]
        assert disposition == f'attachment; filename="walking-{name}.{kind}"'
    assert "content-disposition" not in svg.headers


def rows(wire: HttpClient, task: str, chart: str) -> list[dict[str, Any]]:
    text = wire.get(f"/tasks/{task}/charts/{chart}.csv").body.decode()
    table = csv.DictReader(io.StringIO(text))
    return [
        {name: value if name == "label" else float(value) for name, value in row.items()}
        for row in table
    ]


@pytest.mark.parametrize("task", ["walking", "person"])
def test_numbers_are_those_of_the_api(wire: HttpClient, task: str) -> None:
    stats: dict[str, Any] = wire.get(f"/v1/tasks/{task}/stats").json()
    newest = rows(wire, task, "error")[-1]
    assert newest == {
        "checkins": stats["version"],
        "error": stats["error"]["value"],
        "margin": stats["error"]["margin"],
    }
    labels = rows(wire, task, "labels")
    assert sum(row.pop("share") for row in labels) == pytest.approx(1.0)
    names = json.loads(wire.get(f"/v1/tasks/{task}").json()["terms"])["target"]["labels"]
    assert labels == [
        {"label": name, "estimate": label["value"], "margin": label["margin"]}
        for name, label in zip(names, stats["labels"], strict=True)
    ]
    assert rows(wire, task, "devices")[-1]["devices"] == stats["active_devices"]
    assert sum(row["checkins"] for row in rows(wire, task, "pace")) == stats["version"]
    late = [row["staleness"] for row in rows(wire, task, "staleness")]
    assert sum(late) / len(late) == pytest.approx(stats["staleness_mean"])
    assert max(late) == stats["staleness_max"]


@pytest.mark.parametrize("name", CHARTS)
def test_nothing_to_show_yet(wire: HttpClient, name: str) -> None:
    assert rows(wire, "new", name) == []
    assert wire.get(f"/tasks/new/charts/{name}.svg").status == 200


def test_no_labels_for_a_number(wire: HttpClient) -> None:
    assert rows(wire, "temperature", "labels") == []
    assert wire.get("/tasks/temperature/charts/labels.svg").status == 200
    assert b"charts/labels" not in wire.get("/tasks/temperature").body


@pytest.mark.parametrize("path", ["charts/secret.svg", "charts/error.exe", "charts/.svg", "x.svg"])
def test_charts_that_do_not_exist(wire: HttpClient, path: str) -> None:
    page = wire.get(f"/tasks/walking/{path}", accept=PAGE)
    assert page.status == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<h1>There is nothing here</h1>" in page.body
    assert problem_kind(wire.get(f"/tasks/walking/{path}")) == "not-found"


def test_charts_of_a_task_that_does_not_exist(wire: HttpClient) -> None:
    for path in ("charts/error.svg", "spark.svg", "hiding.svg?epsilon=1&batch=1", "join.svg"):
        assert wire.get(f"/tasks/nobody/{path}", accept=PAGE).status == 404


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("epsilon=0&batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("epsilon=101&batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("epsilon=nan&batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("epsilon=inf&batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("epsilon=%3Cscript%3E&batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("batch=20", "Epsilon must lie in 0.01 … 20, found"),
        ("epsilon=1&batch=0", "Batch must lie in 1 … 1,000, found"),
        ("epsilon=1&batch=1e9", "Batch must lie in 1 … 1,000, found"),
        ("epsilon=1", "Batch must lie in 1 … 1,000, found"),
    ],
)
def test_noise_that_cannot_be_drawn(wire: HttpClient, query: str, sentence: str) -> None:
    page = wire.get(f"/tasks/walking/hiding.svg?{query}", accept=PAGE)
    assert page.status == 400
    assert sentence in page.body.decode()
    assert b"<script>" not in page.body
    assert problem_kind(wire.get(f"/tasks/walking/hiding.svg?{query}")) == "invalid-parameter"


NOISY = ["walking", "temperature", "indoors", "pocket"]


@pytest.mark.parametrize("task", NOISY)
@pytest.mark.parametrize("query", ["epsilon=0.01&batch=1", "epsilon=20&batch=1000"])
def test_noise_at_its_limits(wire: HttpClient, task: str, query: str) -> None:
    reply = wire.get(f"/tasks/{task}/hiding.svg?{query}")
    assert reply.status == 200, reply.body


def test_a_choice_has_limits_of_its_own(wire: HttpClient) -> None:
    for epsilon in (0.01, 4, 20):
        assert wire.get(f"/tasks/person/hiding.svg?epsilon={epsilon}").status == 200
    shown = wire.get("/tasks/person/hiding.svg?epsilon=4&sent=7").body.decode()
    assert "ordered by its data, it is number 7 of 1,024" in shown
    for sent in ("0", "1025", "x", "-1"):
        reply = wire.get(f"/tasks/person/hiding.svg?epsilon=4&sent={sent}")
        assert problem_kind(reply) == "invalid-parameter"
    page = wire.get("/tasks/person/hiding.svg?epsilon=21", accept=PAGE)
    assert page.status == 400
    assert "Epsilon must lie in 0.01 … 20, found" in page.body.decode()
