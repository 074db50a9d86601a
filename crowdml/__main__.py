"""`crowdml` and `python -m crowdml`: the command, quiet on Ctrl-C and SIGTERM from the start."""

# `signal` itself would load `enum` first, and a Ctrl-C could come before it is ready.
import _signal  # type: ignore[import-not-found]
from os import _exit


def _end(number: int, frame: object) -> None:
    """End at once, as a shell reports it: nothing is open before and after `main`."""
    _exit(128 + number)


for _number in (_signal.SIGINT, _signal.SIGTERM):
    if _signal.getsignal(_number) != _signal.SIG_IGN:  # `nohup`, or a job in the background
        _signal.signal(_number, _end)

from crowdml.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
