"""Serve the web portal, where people browse, join, watch and manage tasks.

`crowdml serve` calls `create_portal_app`, which adds the pages to the server's app. `words` writes
sentences, `pictures` draws charts with them, and `pages` answers requests.
"""

from crowdml.portal.routes import create_portal_app

__all__ = ["create_portal_app"]
