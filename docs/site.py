"""Build documentation and reference as one static site: python -m docs.site FOLDER.

The site needs no server and loads nothing from another one: every file is in its folder, and the
search runs in the reader's browser.
"""

import html
import importlib
import inspect
import json
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt

from docs import reference

__all__ = ["SECTIONS", "Page", "write"]

ROOT = Path(__file__).parents[1]
THEME = ROOT / "docs" / "theme"
PICTURES = {".png", ".svg"}
REFERENCE = "reference/crowdml.html"
SECTIONS = {
    "Start": ["README.md"],
    "Tutorial": ["docs/tutorial.md"],
    "How-to": [
        "docs/csv.md",
        "docs/simulate.md",
        "docs/models.md",
        "docs/sklearn.md",
        "docs/flower.md",
        "docs/portal.md",
        "docs/phone.md",
        "docs/apps.md",
        "docs/home.md",
        "docs/operate.md",
        "docs/watch.md",
    ],
    "Reference": [
        "docs/commands.md",
        "docs/tasks.md",
        "docs/protocol.md",
        "docs/platforms.md",
        "benchmarks/README.md",
        "experiments/README.md",
        "CHANGELOG.md",
    ],
    "Explanation": [
        "docs/privacy.md",
        "docs/threats.md",
        "docs/audit.md",
        "docs/tools.md",
        "docs/faq.md",
        "docs/scale.md",
        "docs/decisions.md",
        "ARCHITECTURE.md",
    ],
    "Take part": ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"],
}
"""The pages of the menu, by kind. Files that a page links to become pages as well."""

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


@dataclass(frozen=True)
class Page:
    """Turn a file or a folder of the repository into a page of the site.

    Args:
        source: The page's path in the repository.
    """

    source: str

    @property
    def path(self) -> str:
        """Return the page's path in the site."""
        if (ROOT / self.source).is_dir():
            return f"{self.source}/index.html"
        if self.source.endswith(".md"):
            return re.sub(r"README\.html$", "index.html", f"{self.source[:-3]}.html")
        return self.source if Path(self.source).suffix in PICTURES else f"{self.source}.html"

    @property
    def title(self) -> str:
        """Return the first heading, or the file's name."""
        heading = re.match(r"# (.*)", self._text) if self.source.endswith(".md") else None
        return heading[1].replace("`", "") if heading else self.source

    @cached_property
    def _text(self) -> str:
        return (ROOT / self.source).read_text(encoding="utf-8")

    @cached_property
    def body(self) -> str:
        """Return the page's HTML, with links between files of the repository."""
        place, escaped = ROOT / self.source, html.escape(self.source)
        if place.is_dir():
            files = sorted(each.name for each in place.iterdir() if each.is_file())
            items = "".join(f'<li><a href="{name}">{name}</a></li>' for name in files)
            return f"<h1>{escaped}</h1><ul>{items}</ul>"
        if not self.source.endswith(".md"):
            return f"<h1>{escaped}</h1><pre><code>{html.escape(self._text)}</code></pre>"
        tokens, seen = MARKDOWN.parse(self._text), set[str]()
        for token, inside in pairwise(tokens):
            if token.type == "heading_open":
                token.attrSet("id", _anchor(inside.content, seen))
        return str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))

    def target(self, link: str) -> "tuple[Page, str] | None":
        """Return a link's page and anchor; None for another site or the same page."""
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return None
        folder = self.source if (ROOT / self.source).is_dir() else posixpath.dirname(self.source)
        source = posixpath.normpath(posixpath.join(folder, path))
        if (ROOT / source / "README.md").exists():
            source += "/README.md"
        return Page(source), f"#{anchor}" if anchor else ""

    @cached_property
    def linked(self) -> list["Page"]:
        """Return the pages and pictures that this page links to."""
        found = (self.target(link) for _, link in _links(self.body))
        return [each[0] for each in found if each]

    @property
    def rewritten(self) -> str:
        """Return the page's HTML, with links between pages of the site."""

        def rewrite(match: re.Match[str]) -> str:
            led = self.target(html.unescape(match[2]))
            address = html.escape(self.relative(led[0].path) + led[1]) if led else match[2]
            return f'{match[1]}="{address}"'

        return LINK.sub(rewrite, self.body)

    def relative(self, path: str) -> str:
        """Return the relative path from this page to a path of the site."""
        return posixpath.relpath(path, posixpath.dirname(self.path) or ".")

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """Yield the address, heading and text of each section, for the search."""
        parts = re.split(r'<h\d id="([^"]*)">(.*?)</h\d>', self.body)
        for anchor, heading, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            shown = _plain(heading)
            title = shown if shown == self.title else f"{self.title}: {shown}"
            yield f"{self.path}#{anchor}", title, _plain(text)


LINK = re.compile(r'\b(href|src)="([^"]+)"')


def _links(body: str) -> list[tuple[str, str]]:
    return [(kind, html.unescape(link)) for kind, link in LINK.findall(body)]


def _anchor(heading: str, seen: set[str]) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    anchor = plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    number = 0
    while anchor in seen:
        number += 1
        anchor = f"{plain}-{number}"
    seen.add(anchor)
    return anchor


def _plain(body: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def _reference_entries() -> Iterator[tuple[str, str, str]]:
    for module in reference.modules():
        home = importlib.import_module(module)
        for name in home.__all__:
            words = (inspect.getdoc(getattr(home, name)) or "").partition("\n\n")[0]
            address = f"reference/{module.replace('.', '/')}.html#{name}"
            yield address, f"{module}.{name}", " ".join(words.split())


def pages() -> list[Page]:
    """Return the pages of the menu, and every page that they link to."""
    found = [Page(source) for sources in SECTIONS.values() for source in sources]
    for page in found:  # The list grows while it is read.
        if Path(page.source).suffix not in PICTURES:
            found += [each for each in dict.fromkeys(page.linked) if each not in found]
    return found


def write(folder: Path) -> None:
    """Write all pages, the reference and the search index."""
    template = Environment(loader=FileSystemLoader(THEME), autoescape=True).get_template(
        "page.html"
    )
    sections = {name: [Page(each) for each in sources] for name, sources in SECTIONS.items()}
    entries: list[tuple[str, str, str]] = []
    for page in pages():
        file = folder / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in PICTURES:
            shutil.copyfile(ROOT / page.source, file)
            continue
        root = page.relative(".")
        file.write_text(
            template.render(page=page, sections=sections, root=root, reference=REFERENCE),
            encoding="utf-8",
        )
        entries += page.entries()
    for name in ("style.css", "search.js"):
        shutil.copyfile(THEME / name, folder / name)
    reference.write(folder / "reference")
    entries += _reference_entries()
    index = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (folder / "search-index.js").write_text(f"window.searchIndex = {index};\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
