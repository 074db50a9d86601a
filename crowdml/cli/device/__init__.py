"""Define `crowdml device`: one module for each command, and what they share."""

from crowdml.cli.device.commands import app

__all__ = ["app"]
