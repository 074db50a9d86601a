"""Handle requests and answers: routes under /v1, bodies, proxies, compression, metrics.

Nothing here decides what is learnt. The fast path of a check-in is `checkin.py`.
"""

from crowdml.server.http.body import read_body
from crowdml.server.http.metrics_access import is_loopback
from crowdml.server.http.public_address import PublicAddress
from crowdml.server.http.routes import create_app
from crowdml.server.http.visitor import network_of, visitor_of

__all__ = ["PublicAddress", "create_app", "is_loopback", "network_of", "read_body", "visitor_of"]
