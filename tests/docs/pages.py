"""List the project's pages, and read blocks, code spans and tables from Markdown."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "node_modules")) for part in path.relative_to(ROOT).parts)
)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str = "") -> list[str]:
    """Return the fenced blocks in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def inline(text: str) -> list[str]:
    """Return the code spans between single backticks, outside fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of every row of every table, headings included."""
    rows = (line for line in text.splitlines() if line.startswith("|"))
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in rows
        if not set(row) <= set("|-: ")
    ]
