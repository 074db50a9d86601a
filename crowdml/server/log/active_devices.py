"""Remember which devices have checked in."""

import numpy as np
import numpy.typing as npt


class ActiveDevices:
    """Store a set of device numbers, 64 to a word.

    Numbers are dense where a crowd is large, so a million active devices take two megabytes; and
    one device with a large number takes one word, however many have joined without checking in.

    >>> active = ActiveDevices()
    >>> for device in (3, 10**9, 3):
    ...     active.add(device)
    >>> active.count
    2
    """

    def __init__(self, words: npt.NDArray[np.uint64] | None = None) -> None:
        self._words: dict[int, int] = {} if words is None else dict(words.tolist())
        self.count = sum(word.bit_count() for word in self._words.values())

    def add(self, device: int) -> None:
        word_index, bit = device // 64, 1 << device % 64
        word = self._words.get(word_index, 0)
        if not word & bit:
            self._words[word_index] = word | bit
            self.count += 1

    def to_array(self) -> npt.NDArray[np.uint64]:
        return np.array(list(self._words.items()), dtype=np.uint64).reshape(-1, 2)
