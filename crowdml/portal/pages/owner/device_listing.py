"""Choose the devices that an owner's page shows: search, order and page."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crowdml.portal.pages.task_listing import page_in
from crowdml.server.database import DEVICE_ORDERS, DeviceRow, DeviceTotals, Store

PER_PAGE = 10
STATUSES = ("", "active", "left", "revoked")


@dataclass(frozen=True)
class DeviceListing:
    """Hold one page of the devices that match.

    Args:
        shown: The devices of this page, with what they did.
        found: The number of devices that match.
        query: A part of a device's name.
        status: One of `STATUSES`.
        order: One of `DEVICE_ORDERS`.
        page: 1, 2, …
        asked: Whether the address asks for devices, so that the list is unfolded.
    """

    shown: list[tuple[DeviceRow, DeviceTotals]]
    found: int
    query: str
    status: str
    order: str
    page: int
    asked: bool

    @property
    def pages(self) -> int:
        return max(1, math.ceil(self.found / PER_PAGE))

    @classmethod
    def of(cls, store: Store, task: int, parameters: Mapping[str, str]) -> "DeviceListing":
        query = parameters.get("device", "").strip().casefold()[:32]
        status = _one_of(STATUSES, parameters.get("status", ""))
        order = _one_of(DEVICE_ORDERS, parameters.get("order", ""))
        log = store.log(task)
        found = log.count_devices(query, status)
        page = page_in(parameters, found, PER_PAGE)
        rows = log.devices(query, status, order, (page - 1) * PER_PAGE, PER_PAGE)
        totals = log.by_device([number for number, *_ in rows])
        shown = [(DeviceRow(task, *row), totals.get(row[0], DeviceTotals())) for row in rows]
        asked = not parameters.keys().isdisjoint(("device", "status", "order", "page"))
        return cls(shown, found, query, status, order, page, asked)


def _one_of(known: tuple[str, ...], text: str) -> str:
    return text if text in known else known[0]
