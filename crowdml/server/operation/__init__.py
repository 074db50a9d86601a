"""Operate a server: processes, TLS certificates, log lines, backups."""

from crowdml.server.operation.backup import Contents, back_up, restore
from crowdml.server.operation.serve import Address, run_loop, serve

__all__ = ["Address", "Contents", "back_up", "restore", "run_loop", "serve"]
