"""Set the label of current readings."""

from crowdml.device.agreement import Agreement
from crowdml.device.storage import CurrentLabel, DeviceStore
from crowdml.device.targets import typed_label
from crowdml.errors import InvalidSample


def set_label(store: DeviceStore, label: str | None, at: int) -> str | None:
    """Set the label from this time on, in nanoseconds; None to collect nothing.

    Returns:
        The label, as the task writes it.

    Raises:
        InvalidSample: The task has no such label.
    """
    labels = Agreement(store.joined).terms.target.labels
    y = typed_label(label or "", labels)
    if label is not None and y is None:
        raise InvalidSample("a label must not be empty. Use --none to collect nothing.")
    name = None if y is None else str(y)
    store.streams.label = CurrentLabel(name, at)
    return name
