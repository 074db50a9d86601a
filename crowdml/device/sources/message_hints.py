"""Notice messages that give no samples, and say what a person can do about it."""

from crowdml.device.sources.formats import Batch

WITHOUT_LABEL = 30
"""Messages with readings but no label, after which the person gets a hint."""


class MessageHints:
    """Count messages without a reading, or without a label, and return a hint after some.

    Args:
        advice: What to switch on in the app.
        after: Messages in a row without a reading, after which the person gets a hint.
    """

    def __init__(self, advice: str, after: int) -> None:
        self._advice, self._after = advice, after
        self._n_barren = self._n_unlabelled = 0
        self._session = ""

    def hint(self, batch: Batch, labelled: bool) -> str | None:
        """Return what to do, if this message is the last of too many.

        Args:
            labelled: Whether readings have a label, or a person has set that they have none.
        """
        if batch.session != self._session:
            self._session, self._n_unlabelled = batch.session, 0
        if labelled or batch.labels:
            self._n_unlabelled = -1  # the person knows about labels: no hint in this session
        if batch.readings:
            self._n_barren = 0
            self._n_unlabelled += self._n_unlabelled >= 0
            return self._without_label() if self._n_unlabelled == WITHOUT_LABEL else None
        self._n_barren += bool(batch.foreign)
        if self._n_barren < self._after:
            return None
        self._n_barren = 0
        return (
            f"nothing for this task came in the last {self._after} messages, which have "
            f"{', '.join(batch.foreign)[:200]}. {self._advice}."
        )

    def _without_label(self) -> str:
        self._n_unlabelled += 1  # say it once
        return (
            f"the last {WITHOUT_LABEL} messages have readings, but no label is set: nothing is "
            "collected until `crowdml device label NAME`, or until the app sets a label."
        )
