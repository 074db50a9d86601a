"""Operate a server: processes, TLS certificates, log lines, backups.

The commands `crowdml serve`, `crowdml backup` and `crowdml restore` call this package, and no other
part of the server may import it. It starts worker processes, and never handles a request.
"""

from crowdml.server.operation.backup import BackupContents, back_up, restore
from crowdml.server.operation.serve import BindAddress, run_loop, serve

__all__ = ["BackupContents", "BindAddress", "back_up", "restore", "run_loop", "serve"]
