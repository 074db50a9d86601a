"""Check releases: the tag, and workflows that only run targets of the Makefile."""

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import ROOT, page
from tests.packaging.release import problems_of_tag

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))


def test_a_tag_is_the_version_and_needs_a_real_address() -> None:
    problems = problems_of_tag("v9.9.9")
    assert any("found v9.9.9" in problem for problem in problems)
    assert any("placeholder" in problem for problem in problems)
    version = re.findall(r'^version = "(.*)"', page("pyproject.toml"), re.MULTILINE)[0]
    assert not any(f"found v{version}" in problem for problem in problems_of_tag(f"v{version}"))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: str(file.stem))
def test_each_step_of_a_workflow_is_a_target(file: Path) -> None:
    """Check every step but the installation of `make` itself. Actions have a version."""
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.search(r"@(v\d+|release/v\d+)$", step["uses"])
            elif not step["run"].startswith("apt-get update && apt-get install "):
                assert step["run"].split()[:1] == ["make"]
                assert step["run"].split()[1] in TARGETS
                assert "${{" not in step["run"], "values come in by the environment"


def test_the_citation_names_the_paper_and_no_version() -> None:
    citation = yaml.safe_load(page("CITATION.cff"))
    assert "version" not in citation, "it is in pyproject.toml"
    (paper,) = citation["references"]
    names = [author["family-names"] for author in paper["authors"]]
    assert ", ".join(names) in page("README.md").replace("\n", " ")
    assert paper["title"] in page("README.md").replace("\n", " ")
