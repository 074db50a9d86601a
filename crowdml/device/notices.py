"""Log messages for the participant about a device."""

import logging

logger = logging.getLogger("crowdml.device")


class Notices:
    """Log messages for the participant; a repeated message is logged once, not at every sample."""

    def __init__(self) -> None:
        self._last = ""

    def log_once(self, sentence: str) -> None:
        """Log a sentence, unless it is the last one that was logged."""
        if sentence != self._last:
            logger.warning(sentence)
            self._last = sentence
