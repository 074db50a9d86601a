"""crowdml audit, in a small way: the audit itself has tests of its own."""

from tests.cli.command import Command, Here


def test_one_object(crowdml: Command) -> None:
    document = crowdml("audit", "--json", "--trials", 200).json()
    assert document["passed"] is True
    assert set(document["parts"]) >= {"gradient", "errors", "labels"}
    for part in document["parts"].values():
        assert 0 <= part["lower_bound"] <= part["claimed"] <= 3.0


def test_a_table(quick: Here) -> None:
    ran = quick("audit", "--epsilon", 2, "--trials", 100).said()
    assert "within the claim" in ran
    assert "gradient" in ran
    assert "BROKEN" not in ran


def test_what_cannot_be_audited(quick: Here) -> None:
    for epsilon in ("0", "-1", "inf", "nan"):
        assert "positive and finite" in quick("audit", "--epsilon", epsilon).error()
    assert "at least 100, found 99" in quick("audit", "--trials", 99).error()
