"""Make small changes of a module, each of which a good test notices."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

PAIRS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    *((ast.In, ast.NotIn), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)),
]
SWAPS = dict(PAIRS) | {new: old for old, new in PAIRS}
SWAPS |= dict.fromkeys((ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult), ast.Mult)
SWAPS |= {ast.BitXor: ast.BitOr, ast.RShift: ast.LShift}
NAMES = {"min": "max", "floor": "ceil", "minimum": "maximum", "any": "all", "argmax": "argmin"}
NAMES |= {new: old for old, new in NAMES.items()}

KEPT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""Nothing inside these nodes is changed. Texts never are."""
KEPT_FIELDS = {"annotation", "returns", "decorator_list", "bases", "keywords"}
"""Fields of classes, functions and arguments that are not changed."""


class Mutant(NamedTuple):
    """Describe a module with one change.

    Args:
        line: The statement that changes, on one line.
        mutant: The same after the change.
        lines: The lines of the file that a test must reach.
        code: The whole module, compiled.
    """

    file: str
    line: str
    mutant: str
    lines: range
    code: CodeType


def mutants_of(file: str) -> list[Mutant]:
    """Yield every mutant of a file, in the order of its lines."""
    tree = ast.parse(Path(file).read_text())
    before, found = ast.unparse(tree).splitlines(), dict[tuple[int, str], Mutant]()
    for statement in _changes(tree):
        after = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
        at = next(i for i, line in enumerate(after) if line != before[i])
        body = getattr(statement, "body", None)
        end = body[0].lineno - 1 if body else statement.end_lineno
        lines = range(statement.lineno, max(statement.lineno, end or 0) + 1)
        code = compile(tree, file, "exec")
        found[at, after[at]] = Mutant(file, before[at].strip(), after[at].strip(), lines, code)
    return list(found.values())


def _changes(node: ast.AST, statement: ast.stmt | None = None) -> Iterator[ast.stmt]:
    """Make one change after the other, each until the next; yield the statement around it."""
    for field, value in ast.iter_fields(node):
        if field in KEPT_FIELDS and isinstance(node, ast.stmt | ast.arg):
            continue
        items = value if isinstance(value, list) else [value]
        for i, child in enumerate(items):
            if not isinstance(child, ast.AST) or _for_types_only(child):
                continue
            nearest = child if isinstance(child, ast.stmt) else statement
            if nearest and (new := _replacement(child, field)):
                _put(node, field, value, i, ast.copy_location(new, child))
                yield nearest
                _put(node, field, value, i, child)
            if not isinstance(child, KEPT):
                yield from _changes(child, nearest)


def _put(node: ast.AST, field: str, value: Any, i: int, new: ast.AST) -> None:
    if isinstance(value, list):
        value[i] = new
    else:
        setattr(node, field, new)


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _replacement(node: ast.AST, field: str) -> ast.AST | None:
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return node.operand
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() as value):
            return ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            return ast.Constant(2 * value or 1.0)
        case ast.Name(id=name) if name in NAMES:
            return ast.Name(NAMES[name], ast.Load())
        case ast.Attribute(attr=name) if name in NAMES:
            return ast.Attribute(node.value, NAMES[name], ast.Load())
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            return ast.Pass()
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]
        ):
            return None  # Swapping the operator gives the same mutant.
        case ast.expr() if field in ("test", "ifs"):
            return ast.UnaryOp(ast.Not(), node)
    return SWAPS[type(node)]() if type(node) in SWAPS else None
