"""Import and compute what servers need, before they are forked."""

import uvloop
from granian.server import embed

from crowdml.cli import commands, serve
from crowdml.portal import routes
from crowdml.portal.pages.static import STATIC

MODULES = commands, embed, routes, serve, uvloop
COMPRESSED = STATIC.files
"""The files that pages load. Compressing them takes longer than starting the server."""
