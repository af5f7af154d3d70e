"""The line that a slow compilation leaves. Imported by the core when there is one."""

from __future__ import annotations

import logging


def slow(kernel: str, path: str, line: int, seconds: float) -> None:
    """One line of the logger `kernelwright.compile`, at the level WARNING, for a compile of over a second."""
    logging.getLogger("kernelwright.compile").warning(
        "kernel '%s' (%s:%d) was compiled in %.1f s", kernel, path, line, seconds
    )
