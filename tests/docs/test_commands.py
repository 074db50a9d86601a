"""Check that every command, option and setting is documented, and that documented ones exist."""

import re
import shlex
from dataclasses import fields

import typer

from crowdml.cli import app
from crowdml.server import Settings
from crowdml.simulation.plan_file import PlanFile, read_plan, read_settings
from tests.docs.pages import PAGES, ROOT, blocks, inline, page, table_rows

COMMANDS = page("docs/commands.md")


def commands() -> dict[tuple[str, ...], set[str]]:
    """Return the words of each command with its options."""

    def walk(group: typer.core.TyperGroup, *before: str) -> dict[tuple[str, ...], set[str]]:
        found: dict[tuple[str, ...], set[str]] = {}
        for name, child in group.commands.items():
            if isinstance(child, typer.core.TyperGroup):
                found |= walk(child, *before, name)
            else:
                options = {opt for param in child.params for opt in param.opts if opt[0] == "-"}
                found[*before, name] = options - {"--help"}
        return found

    root = typer.main.get_command(app)
    assert isinstance(root, typer.core.TyperGroup)
    return walk(root)


KNOWN = commands()


def documented(command: tuple[str, ...]) -> str:
    """Return a command's row; a row may have several, such as `crowdml task pause NAME`, `stop`."""
    *group, name = command
    start = " ".join(("crowdml", *group))
    for cells in table_rows(COMMANDS):
        named = re.search(rf"`({re.escape(start)} )?{name}\b", cells[0])
        if cells[0].startswith(f"`{start} ") and named:
            return " ".join(cells)
    raise AssertionError(f"docs/commands.md has no row for crowdml {' '.join(command)}")


def test_every_command_and_its_options() -> None:
    """Find each option in its command's row, or in the text about all commands."""
    rest = "\n".join(line for line in COMMANDS.splitlines() if not line.startswith("| `crowdml"))
    for command, options in KNOWN.items():
        text = documented(command) + "\n" + rest
        assert [each for each in options if not re.search(rf"{each}(?![\w-])", text)] == [], command


def test_no_option_is_invented() -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", COMMANDS))
    assert named <= set().union(*KNOWN.values()) | {"--help"}


def test_every_setting() -> None:
    for setting in fields(Settings):
        words = setting.name.replace("_", "[-_]")
        rows = [cells for cells in table_rows(COMMANDS) if re.search(rf"`(--)?{words}`", cells[0])]
        assert [cells[1] for cells in rows] == [_shown(setting.default)], setting.name


def test_every_key_of_a_plan_file() -> None:
    """Find options in the first table, and settings that are only keys in the second."""
    rows = [cells[0] for cells in table_rows(COMMANDS)]
    for setting in PlanFile.__struct_fields__:
        option = f"--{setting.replace('_', '-')}"
        name = option if option in KNOWN["simulate",] else setting
        assert any(f"`{name}`" in row for row in rows), setting


def test_plans_on_the_page_can_be_read() -> None:
    text = page("docs/simulate.md")
    (plan,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (setting,) = read_settings(read_plan(plan), PlanFile)
    assert setting.plan().crowd.devices == 120


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, int | float):
        return f"{default:g}" if default < 1e6 else f"{default:,}"
    return "none" if default is None else f"`{default}`"


def typed() -> list[tuple[str, str]]:
    """Return every `crowdml …` that a page asks people to type."""
    found = []
    for name in PAGES:
        text = page(name)
        lines = [line for block in blocks(text) for line in block.splitlines()]
        lines += inline(text)
        for line in lines:
            if re.match(r"crowdml [a-z]", line):
                found.append((name, line.split("#")[0].split(">")[0].strip()))
    return sorted(set(found))


def test_what_people_are_told_to_type_exists() -> None:
    groups = {command[:1] for command in KNOWN if len(command) > 1}
    for _, line in typed():
        words = shlex.split(line)[1:]
        length = 2 if (words[0],) in groups else 1
        if len(words) >= length:
            options = {word for word in words if word.startswith("--")}
            assert options <= KNOWN[tuple(words[:length])] | {"--help"}, line


def test_readme_shows_the_whole_way() -> None:
    shown = {line for name, line in typed() if name == "README.md"}
    for needed in ("task new", "task create", "serve", "device join", "device run"):
        assert any(line.startswith(f"crowdml {needed}") for line in shown)


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in PAGES:
        lines = [*"\n".join(blocks(page(name))).splitlines(), *inline(page(name))]
        typed = {found[1] for line in lines if (found := re.match("make ([a-z-]+)", line))}
        assert typed <= targets, name
