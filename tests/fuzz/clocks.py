"""Whether a run that was interrupted ended in time, on hosts that stop or starve processes, too."""

from __future__ import annotations

import time

GRACE = 3.0  # seconds that an interrupted run may go on


def clocks() -> tuple[float, float]:
    """The seconds of the wall clock, and those that this process has run."""
    return time.monotonic(), time.process_time()


def is_late(begin: tuple[float, float], watch: float) -> bool:
    """Whether a run that began then, and was interrupted after `watch` seconds, has gone on for long.

    Both clocks must say so: the wall clock goes on while the process stands still.
    """
    return all(now - then > watch + GRACE for now, then in zip(clocks(), begin, strict=True))
