"""Files that pages load: small, compressed, tagged, and nothing but what is meant to be served."""

import gzip
from pathlib import Path

import brotli
import pytest

import crowdml
from crowdml.portal.pages.joined_modules import join_modules
from crowdml.portal.pages.static import JOINED, STATIC, Folders

WEB = Path(crowdml.__file__).parent / "web"


def served(coding: str, part: str) -> int:
    """Bytes of all modules of the device, or of the page on top of it."""
    web = [path for path in STATIC.files if path.startswith("/web/") and path.endswith(".js")]
    own = [path for path in web if path != JOINED]
    page = [path for path in own if path.startswith(("/web/page/", "/web/sensors/"))]
    wanted = page if part == "page" else set(own) - set(page)
    assert len(wanted) > 10
    return sum(len(STATIC.files[path].bodies[coding]) for path in wanted)


def test_the_browser_device_is_small() -> None:
    # It states every sentence of the promise by itself, reads columns by name, keeps a record, and
    # says what became of it.
    assert served("br", "device") <= 61 * 1024
    assert served("gzip", "device") <= 71 * 1024
    # It says the state, what a limit loses and what would change in whole sentences, and tries the
    # model at the end.
    assert served("br", "page") <= 31 * 1024
    assert len(STATIC.files[JOINED].bodies["br"]) <= 67 * 1024


@pytest.mark.parametrize(
    "text",
    [
        'import x from "./b.js";',
        "export default 1;",
        'const x = await import("./b.js");',
        "export let x = 1;",
    ],
)
def test_only_plain_modules_are_joined(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a.js: imports and exports must be plain ones, found"):
        join_modules({"a.js": text, "b.js": ""}, "a.js")


def test_modules_in_a_circle_are_not_joined() -> None:
    modules = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match="must not import each other in a circle"):
        join_modules(modules, "a.js")


def test_every_form_of_a_file_is_the_file() -> None:
    for file in STATIC.files.values():
        whole = file.bodies[""]
        assert gzip.decompress(file.bodies["gzip"]) == whole
        assert brotli.decompress(file.bodies["br"]) == whole
    assert (WEB / "index.js").read_bytes() == STATIC.files["/web/index.js"].bodies[""]


def test_only_what_pages_load_is_served() -> None:
    endings = {Path(path).suffix for path in STATIC.files}
    assert endings <= {".css", ".js", ".png", ".svg"}
    assert not any("node_modules" in path or path.endswith(".json") for path in STATIC.files)


def test_an_address_changes_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("let a = 1;")
    first = Folders({"static": tmp_path}).address("/static/a.js")
    (tmp_path / "a.js").write_text("let a = 2;")
    second = Folders({"static": tmp_path}).address("/static/a.js")
    assert first != second
    assert first.partition("?")[0] == second.partition("?")[0] == "/static/a.js"
