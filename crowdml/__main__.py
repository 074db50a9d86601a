"""Run `crowdml` and `python -m crowdml`, which are quiet on Ctrl-C and SIGTERM from the start."""

# `signal` would load `enum` first, and Ctrl-C could come before the handler is set.
import _signal  # type: ignore[import-not-found]
from os import _exit


def _end(number: int, frame: object) -> None:
    """End at once with the exit code of the signal: nothing is open before and after `main`."""
    _exit(128 + number)


for _number in (_signal.SIGINT, _signal.SIGTERM):
    if _signal.getsignal(_number) != _signal.SIG_IGN:  # `nohup`, or a job in the background
        _signal.signal(_number, _end)

from crowdml.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
