"""Define the handlers of the portal's pages: for visitors, participants and owners."""

from crowdml.portal.pages import participant, pictures, tasks
from crowdml.portal.pages.context import Portal
from crowdml.portal.pages.page import error_page, redirect
from crowdml.portal.pages.program import (
    handed_out,
    program,
    program_files,
    program_hashes,
    program_page,
)
from crowdml.portal.pages.static import STATIC, static_file
from crowdml.portal.pages.wheel import newest_wheel, wheel

__all__ = [
    "STATIC",
    "Portal",
    "error_page",
    "handed_out",
    "newest_wheel",
    "participant",
    "pictures",
    "program",
    "program_files",
    "program_hashes",
    "program_page",
    "redirect",
    "static_file",
    "tasks",
    "wheel",
]
