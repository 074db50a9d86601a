"""Check that a page loads completely, fits its screen, and is accessible."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from crowdml.portal.pages.static import STATIC
from tests.support.servers import PATIENCE

ROOT = Path(__file__).parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
TASK_SCRIPT = "/static/task.js"


def hurry(page: Page) -> None:
    """Redraw the pictures of a task every 0.2 seconds, where pauses grow from 2 to 30 seconds."""
    script = STATIC.files[TASK_SCRIPT].bodies[""].decode()
    fast, changed = re.subn(r"\b(SOON_MS|LATE_MS) = \d+", r"\1 = 200", script)
    assert changed == 2
    page.route(
        f"**{TASK_SCRIPT}*",
        lambda route: route.fulfill(body=fast, content_type="text/javascript"),
    )


def show_all(page: Page) -> None:
    """Load the pictures that are not in view yet, and wait until all are loaded."""
    # Not with image.decode(), which fails when a live page swaps the picture meanwhile.
    missing = page.evaluate(
        """async (patience) => {
            // One that is hidden in this state of the page may need a network that is not there.
            const images = () => [...document.images].filter((image) => !image.closest("[hidden]"));
            for (const image of images()) image.loading = "eager";
            const missing = () => images()
                .filter((image) => !(image.complete && image.naturalWidth))
                .map((image) => image.currentSrc);
            const end = Date.now() + patience;
            while (missing().length && Date.now() < end) {
                await new Promise((resolve) => setTimeout(resolve, 20));
            }
            return missing();
        }""",
        1000 * PATIENCE,
    )
    assert missing == []


def fits(page: Page) -> bool:
    """Return whether nothing lies beyond the right edge, to be scrolled to or cut off.

    Compare with the screen, not `innerWidth`: a phone zooms out until a page that is too wide fits.
    """
    assert page.viewport_size is not None
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width <= page.viewport_size["width"]


def overflow_of_large_text(page: Page) -> list[str]:
    """List what lies beyond the right edge of a phone at 200 % text, with every fold open."""
    page.set_viewport_size({"width": 390, "height": 844})
    found: list[str] = page.evaluate(
        """() => {
            const folded = [...document.querySelectorAll("details:not([open])")];
            for (const each of folded) each.open = true;
            document.documentElement.style.fontSize = "200%";
            const beyond = (each) =>
                each.checkVisibility() && each.getBoundingClientRect().right > 390.5;
            const fits = document.documentElement.scrollWidth <= 390;
            const outside = fits ? [] : [...document.querySelectorAll("body *")].filter(
                (each) => beyond(each) && !each.closest(".scroll, .hidden")
                    && ![...each.children].some(beyond),
            );
            const start = (each) => each.textContent.trim().slice(0, 40);
            const found = outside.map((each) => `${each.tagName}#${each.id} ${start(each)}`);
            document.documentElement.style.fontSize = "";
            for (const each of folded) each.open = false;
            return fits ? [] : ["too wide", ...found];
        }"""
    )
    return found


def barriers(page: Page) -> list[str]:
    """List the violations of WCAG 2.2 A and AA that axe-core finds, one line per rule.

    Folded parts are checked as well.
    """
    # The browser's debugger evaluates it, so the page's content security policy does not apply.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(
        """async (tags) => {
            const folded = [...document.querySelectorAll("details:not([open])")];
            for (const each of folded) each.open = true;
            const { passes, violations } = await axe.run({
                resultTypes: ["violations"],
                runOnly: { type: "tag", values: tags },
            });
            for (const each of folded) each.open = false;
            const line = ({ id, help, nodes }) =>
                `${id}: ${help}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`;
            return { passed: passes.length, against: violations.map(line) };
        }""",
        WCAG,
    )
    assert found["passed"], "axe-core looked at nothing"
    against: list[str] = found["against"]
    return against
