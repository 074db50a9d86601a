"""The public surface: every `__all__` is sorted and every name in it exists."""

import importlib
import pkgutil

import pytest

import crowdml

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(crowdml.__path__, "crowdml.")
    if ".migrations" not in module.name and not module.name.endswith("__main__")
)


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff sorts them."""
    kind = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", ["crowdml", *MODULES])
def test_all_is_sorted_and_true(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(names, key=order)
    assert len(set(names)) == len(names)
    for public in names:
        assert hasattr(module, public), f"{name}.__all__ names {public}, which does not exist."


@pytest.mark.parametrize(
    "name",
    ["crowdml"]
    + [f"crowdml.{p}" for p in ("checks", "device", "models", "optim", "privacy", "protocol")],
)
def test_package_says_what_is_public(name: str) -> None:
    assert importlib.import_module(name).__all__


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'crowdml' has no attribute 'Nothing'"):
        _ = crowdml.Nothing
