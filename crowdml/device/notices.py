"""Log messages for the participant about a device."""

import logging

logger = logging.getLogger("crowdml.device")


class Notices:
    """Log each message for the participant once, not at every sample."""

    def __init__(self) -> None:
        self._said = ""

    def say(self, sentence: str) -> None:
        if sentence != self._said:
            logger.warning(sentence)
            self._said = sentence
