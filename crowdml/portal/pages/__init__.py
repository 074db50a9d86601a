"""Define the handlers of the portal's pages: for visitors, participants and owners.

`crowdml.portal.routes` serves `ROUTES` and those of `owner`. A handler uses the database only in
the threads of the server's service, and takes its sentences from `words`.
"""

from crowdml.portal.pages import (
    chart_images,
    participant,
    program,
    public_pages,
    static,
    wheel,
)
from crowdml.portal.pages.context import Portal
from crowdml.portal.pages.page import error_page, redirect
from crowdml.portal.pages.program import program_files, served_files
from crowdml.portal.pages.static import STATIC

__all__ = [
    "ROUTES",
    "STATIC",
    "Portal",
    "error_page",
    "program_files",
    "redirect",
    "served_files",
]

ROUTES = [
    *public_pages.ROUTES,
    *chart_images.ROUTES,
    *participant.ROUTES,
    *program.ROUTES,
    *wheel.ROUTES,
    *static.ROUTES,
]
"""The pages of visitors and participants; `owner.ROUTES` has those of owners."""
