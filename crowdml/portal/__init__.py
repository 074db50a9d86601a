"""The web portal: browse tasks, understand them, join them, watch them learn; and steer them."""

from crowdml.portal.routes import create_portal_app

__all__ = ["create_portal_app"]
