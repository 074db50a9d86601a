"""Read the steps of CONTRIBUTING.md: what to write, and where."""

import re
from pathlib import Path
from textwrap import dedent, indent
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Step(NamedTuple):
    """Describe one thing to do: `Write` a file or `Add to` it, and the code."""

    what: str
    file: str
    code: str

    def done(self, text: str, table: str) -> str:
        """Return the file's new text; additions go to the imports and to the end of the table."""
        if self.what == "Write":
            return self.code
        if self.file.endswith(".toml"):
            return text + self.code
        imports, _, entry = self.code.rpartition("\n\n")
        if imports:
            first = re.compile(r"^(import|from crowdml)", re.MULTILINE)
            text = first.sub(rf"{imports}\n\1", text, count=1)
        start, name, rest = text.partition(f"{table} = ")
        assert name, f"{self.file} has no {table}"
        end = re.compile(r"^\}", re.MULTILINE)
        return start + name + end.sub(f"{indent(entry, '    ')}}}", rest, count=1)


def steps(section: str) -> list[Step]:
    """Return the steps of the section with this title, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    found = re.findall(
        r"(Write|Add to)\s+`([^`]+)`:\n\n   ```\w+\n(.*?)\n   ```",
        text.partition(f"## {section}\n")[2].partition("\n## ")[0],
        re.DOTALL,
    )
    return [Step(what, file, dedent(code) + "\n") for what, file, code in found]


def overlay(folder: Path, source: Path, changed: dict[str, str]) -> Path:
    """Make a folder of links to all files of another folder, except for changed and new files."""
    for path in source.rglob("*"):
        link = folder / path.relative_to(source)
        if path.is_file() and str(path.relative_to(source)) not in changed:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    for name, text in changed.items():
        (folder / name).write_text(text)
    return folder
