"""Serve the web portal, where people browse, join, watch and manage tasks."""

from crowdml.portal.routes import create_portal_app

__all__ = ["create_portal_app"]
