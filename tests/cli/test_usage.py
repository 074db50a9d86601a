"""Test exit codes, help, and the message for a part that is not installed."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

import crowdml as package
from crowdml.cli import app
from crowdml.cli.extras import require_extras
from crowdml.errors import CrowdmlError
from tests.cli.command import Command, Here, Ran, environment


def words(command: typer.core.TyperGroup, *before: str) -> list[tuple[str, ...]]:
    """List every command, as it is typed."""
    found: list[tuple[str, ...]] = [before] if before else []
    for name, child in command.commands.items():
        if isinstance(child, typer.core.TyperGroup):
            found += words(child, *before, name)
        else:
            found.append((*before, name))
    return found


def group() -> typer.core.TyperGroup:
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    return command


@pytest.mark.parametrize("command", words(group()), ids=" ".join)
def test_every_command_explains_itself(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage: " in result.output
    assert "bool" not in result.output, "a flag takes no value"


def test_the_version(crowdml: Command) -> None:
    assert crowdml("--version").said() == f"{package.__version__}\n"
    assert package.__version__ == version("crowdml")


def test_done_is_0_an_error_is_1_and_wrong_usage_is_2(crowdml: Command) -> None:
    assert crowdml("task", "new").code == 0
    assert crowdml("task", "create", "nothing.toml").error().startswith("cannot read the task file")
    wrong = crowdml("serve", "--port", "many")
    assert wrong.code == 2
    assert wrong.out == ""
    assert "--port" in wrong.err
    assert "Traceback" not in wrong.err


def numbers() -> Iterator[tuple[tuple[str, ...], str, type]]:
    """List every option that is a number: the command, the option and its type."""
    for path in words(group()):
        command: Any = group()
        for word in path:
            command = command.commands[word]
        if hasattr(command, "commands"):
            continue
        kinds = get_type_hints(command.callback.__wrapped__)
        for option in command.params:
            kind = {int, float} & {kinds[option.name], *get_args(kinds[option.name])}
            for each in kind:
                yield path, option.opts[0], each


NUMBERS = list(numbers())


@pytest.mark.parametrize(("command", "option", "kind"), NUMBERS, ids=map(str, NUMBERS))
def test_every_number_has_a_range(
    quick: Here, command: tuple[str, ...], option: str, kind: type
) -> None:
    """Check that nan and negative numbers are rejected, and inf except for an ε."""
    infinite = option in ("--epsilon", "--per-sample", "--per-device") and command != ("audit",)
    for value in ("-1", *(("nan", *(() if infinite else ("inf",))) if kind is float else ())):
        said = quick(*command, option, value).error()
        assert said.startswith(f"{option} must lie in "), said
        assert said.endswith(f"found {kind(value)}."), said
    assert quick(*command, option, "1,5").code == 2


@pytest.mark.parametrize("arguments", [[], ["task"], ["device"], ["bench"]], ids=" ".join)
def test_without_a_command_there_is_help(quick: Here, arguments: list[str]) -> None:
    ran = quick(*arguments)
    assert ran.code in (0, 2)
    assert "Commands" in ran.out + ran.err


def test_what_a_system_rejects_is_one_line(quick: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a name that is too long for a folder, and a lack of memory."""
    error = quick("device", "ledger", "--file", "x" * 300).error()
    assert error == f"File name too long: {'x' * 300}"

    def too_much(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("crowdml.cli.predict.load_model", too_much)
    error = quick("predict", "m.npz", "--source", "-").error()
    assert error == "the command needs more memory than this machine has. Ask for less."


@pytest.mark.parametrize("host", ["a..b", ".x", 70 * "a", "["])
def test_hosts_that_cannot_be(quick: Here, host: str) -> None:
    for command in (
        ["device", "join", f"https://{host}/join/a", "--yes"],
        ["device", "join", f"https://{host}/join/a", "--yes", "--fingerprint", "ab"],
        ["predict", f"https://{host}/tasks/a", "--source", "-"],
        ["program", "--url", f"https://{host}"],
    ):
        assert host in quick(*command).error()


def test_a_part_that_is_not_installed_is_named() -> None:
    advice = r"needs numba.*pip install 'crowdml\[server,sim\]'"
    with pytest.raises(CrowdmlError, match=advice), require_extras("server", "sim"):
        raise ModuleNotFoundError("No module named 'numba'", name="numba")


@pytest.mark.parametrize(
    ("missing", "arguments", "extras"),
    [
        ("sqlalchemy", ["task", "list"], "server"),
        ("starlette", ["serve"], "server"),
        ("scipy", ["demo"], "demo"),
        ("opendp", ["demo", "--mechanism", "laplace"], "noise"),
    ],
)
def test_a_plain_installation_says_what_to_install(
    tmp_path: Path, missing: str, arguments: list[str], extras: str
) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['crowdml', *{arguments!r}]; "
        "from crowdml.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=120,
    )  # fmt: skip
    sentence = Ran(done.returncode, done.stdout, done.stderr).error()
    assert f"needs {missing}" in sentence
    assert f"pip install 'crowdml[{extras}]'" in sentence
