"""Check that each name has one meaning, and that names are plain words."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

import crowdml

PACKAGE = Path(crowdml.__file__).parent
ALONE = PACKAGE / "one_file_device.py"
"""It runs without the package, so its names cannot collide with others."""

FILES = sorted(
    file for file in PACKAGE.rglob("*.py") if file != ALONE and "migrations" not in file.parts
)
POETIC = {"audible", "heed", "settled", "standing", "tell", "told", "voice", "wish", "wishes"}


def public_classes(file: Path) -> list[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return [name for name in classes if not name.startswith("_")]


def test_no_two_public_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for file in FILES:
        for name in public_classes(file):
            homes[name].append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_names_are_plain() -> None:
    for file in [*FILES, ALONE]:
        names = set(re.findall(r"\w+", file.read_text(encoding="utf-8"))) & POETIC
        if names:
            text = io.StringIO(file.read_text(encoding="utf-8"))
            tokens = {token.string for token in tokenize.generate_tokens(text.readline)}
            assert tokens & names == set(), file
