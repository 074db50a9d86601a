"""Find what a page needs in its app: the service, the task in its address, the portal's caches."""

from urllib.parse import urlsplit

from starlette.requests import Request

from crowdml.portal.pages.password_checks import PasswordChecks
from crowdml.portal.pages.planner import Planner
from crowdml.portal.pictures import RenderCache
from crowdml.portal.words import Example
from crowdml.server.http import PublicAddress
from crowdml.server.log import Learner
from crowdml.server.service import Service


class Portal:
    """Hold the caches and queues that the pages of one app share."""

    def __init__(self) -> None:
        self.charts = RenderCache[bytes](most_waiting=64)
        # A separate cache, so that moving the sliders does not delay the charts.
        self.hiding_pictures = RenderCache[bytes](most_waiting=8)
        self.examples = RenderCache[Example](most_waiting=16)
        self.password_checks = PasswordChecks()
        self.planner = Planner()


def portal_of(request: Request) -> Portal:
    portal: Portal = request.app.state.portal
    return portal


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def public_address_of(request: Request) -> PublicAddress:
    address: PublicAddress = request.app.state.public_address
    return address


def on_loopback(request: Request) -> bool:
    """Return whether this page has an address that only its own machine can open."""
    root = public_address_of(request).root(request)
    return urlsplit(root).hostname in ("localhost", "127.0.0.1", "::1")


def learner_of(request: Request) -> Learner:
    return service_of(request).registry.task(request.path_params["task"]).learner
