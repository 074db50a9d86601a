"""The web portal: browse tasks, understand them, join them, watch them learn; and steer them."""

from crowdml.portal.routes import portal_routes, serve_with_portal

__all__ = ["portal_routes", "serve_with_portal"]
