"""Write the frame of the report: one page that requests nothing, light or dark, wide or narrow."""

from html import escape

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f37; --bad: #b35900; }
@media (prefers-color-scheme: dark) { :root { --good: #57c271; --bad: #f0a34e; } }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 62rem;
  overflow-wrap: break-word; }
h1 { line-height: 1.2; margin: .5rem 0; }
h2 { margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
h3 { margin: 1.6rem 0 .4rem; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; max-width: 40rem; height: auto; margin: 0 auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td:first-child { white-space: nowrap; }
td.number, th.number { text-align: right; white-space: nowrap; }
.holds { color: var(--good); font-weight: 600; white-space: nowrap; }
.fails { color: var(--bad); font-weight: 600; white-space: nowrap; }
.note { font-size: .9rem; opacity: .8; }
code { background: var(--soft); padding: .1em .3em; border-radius: .2em; }
@media (max-width: 38rem) {
  .stack thead { display: none; }
  .stack tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .stack td { display: inline; border: 0; padding: 0 .4rem 0 0; }
  .stack td:first-child { font-weight: 600; white-space: normal; }
}
nav a { margin-right: .8rem; white-space: nowrap; }
"""


def page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def table(
    head: list[str], rows: list[list[str]], classes: list[str] | None = None, stack: bool = False
) -> str:
    """Write a table from cells that are already HTML.

    A table that is too wide scrolls. With `stack` it becomes a list on a narrow screen.
    """
    kinds = classes or [""] * len(head)

    def cells(tag: str, row: list[str]) -> str:
        return "".join(
            f'<{tag} class="{kind}">{cell}</{tag}>' if kind else f"<{tag}>{cell}</{tag}>"
            for cell, kind in zip(row, kinds, strict=True)
        )

    kind = ' class="stack"' if stack else ""
    lines = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0"><table{kind}>\n'
        f"<thead><tr>{cells('th', head)}</tr></thead>\n"
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
