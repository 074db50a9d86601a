"""Define `crowdml device`: one module for each command, and what they share.

These are the commands of participants. They use a device only through `crowdml.device`, and ask for
consent before anything is sent.
"""

from crowdml.cli.device.commands import app

__all__ = ["app"]
