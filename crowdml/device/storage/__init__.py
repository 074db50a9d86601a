"""Keep what a device must not forget: samples, messages, costs and positions, in SQLite.

One transaction takes samples, adds their cost and stores the message; a change must keep this whole
under a kill at any moment. Tables are in `schema`.
"""

from crowdml.device.storage.account import Account, AccountEntry, AccountStatement, Trail
from crowdml.device.storage.position import Position, TakenBefore
from crowdml.device.storage.store import DeviceStore, StoreSummary, WrittenCheckin, default_file
from crowdml.device.storage.streams import CurrentLabel

__all__ = [
    "Account",
    "AccountEntry",
    "AccountStatement",
    "CurrentLabel",
    "DeviceStore",
    "Position",
    "StoreSummary",
    "TakenBefore",
    "Trail",
    "WrittenCheckin",
    "default_file",
]
