"""Join the modules of the phone's program into one file, with their text unchanged.

On a slow network one file loads faster than sixty. Only lines that import or export change: each
module becomes a function that returns its exports.
"""

import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath

FROM = r'from\s+"(?P<path>\.[^"]*)";'
IMPORT = re.compile(rf"^import\s+(?P<names>\{{[^}}]*\}}|\*\s+as\s+\w+)\s+{FROM}", re.M)
EXPORT_FROM = re.compile(rf"^export\s+(?P<names>\{{[^}}]*\}}|\*)\s+{FROM}", re.M)
EXPORT_NAMES = re.compile(r"^export\s+\{(?P<names>[^}]*)\};", re.M)
EXPORT = re.compile(
    r"^export\s+(?=(?:const|class|function\*?|async\s+function)\s+(?P<name>\w+))", re.M
)
OTHER = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.M)
FILE_HEAD = """\
// The program of a phone that takes part: the modules of crowdml/web, one after the other. They
// stand here as they are written; only what they import and export is passed on in another way.
"""


def join_modules(modules: Mapping[str, str], entry: str) -> str:
    """Join a module and all its imports into one module, for the root of the folder.

    >>> modules = {
    ...     "a.js": 'import { two as b } from "./b/c.js";\\nconsole.log(b);\\n',
    ...     "b/c.js": "export const two = 2;\\n",
    ... }
    >>> print(join_modules(modules, "a.js").removeprefix(FILE_HEAD))
    <BLANKLINE>
    // ---- b/c.js
    const $b_c = (() => {
    const two = 2;
    return { two };
    })();
    <BLANKLINE>
    // ---- a.js
    const $a = (() => {
    const { two: b } = $b_c;
    console.log(b);
    return {  };
    })();
    <BLANKLINE>
    """
    return FILE_HEAD + "".join(
        f"\n// ---- {path}\nconst {_name(path)} = (() => {{\n{_inside(path, modules[path])}}})();\n"
        for path in _in_order(modules, entry, ())
    )


def _in_order(modules: Mapping[str, str], path: str, above: tuple[str, ...]) -> list[str]:
    """List a module's imports before the module itself, without duplicates."""
    if path in above:
        raise ValueError(f"modules must not import each other in a circle, found {(*above, path)}.")
    found: list[str] = []
    for pattern in (IMPORT, EXPORT_FROM):
        for statement in pattern.finditer(modules[path]):
            found += _in_order(modules, _target(path, statement), (*above, path))
    return list(dict.fromkeys([*found, path]))


def _inside(path: str, text: str) -> str:
    exported: list[str] = []

    def take(statement: re.Match[str]) -> str:
        names = statement["names"].replace("* as ", "").replace(" as ", ": ")
        return f"const {names} = {_name(_target(path, statement))};"

    def pass_on(statement: re.Match[str]) -> str:
        other = _name(_target(path, statement))
        names = ["*"] if statement["names"] == "*" else statement["names"].strip("{}").split(",")
        exported.extend(
            f"...{other}" if name == "*" else f"{name.strip()}: {other}.{name.strip()}"
            for name in names
            if name.strip()
        )
        return f"// {' '.join(names).strip()}: see {_target(path, statement)}"

    text = IMPORT.sub(take, text)
    text = EXPORT_FROM.sub(pass_on, text)
    exported += [name.strip() for each in EXPORT_NAMES.findall(text) for name in each.split(",")]
    text = EXPORT_NAMES.sub("", text)
    exported += EXPORT.findall(text)
    text = EXPORT.sub("", text)
    if unknown := OTHER.search(text):
        raise ValueError(f"{path}: imports and exports must be plain ones, found {unknown[0]!r}.")
    own = f'new URL("./{path}", import.meta.url).href'
    return f"{text.replace('import.meta.url', own)}return {{ {', '.join(exported)} }};\n"


def _target(path: str, statement: re.Match[str]) -> str:
    return normpath(join(dirname(path), statement["path"]))


def _name(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))
