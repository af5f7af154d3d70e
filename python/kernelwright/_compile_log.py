"""Logs slow compilations. The core imports this module when there is one."""

from __future__ import annotations

import logging


def slow(kernel: str, path: str, line: int, seconds: float) -> None:
    """Logs a compile of over a second as one WARNING line of the logger `kernelwright.compile`."""
    logging.getLogger("kernelwright.compile").warning(
        "kernel '%s' (%s:%d) was compiled in %.1f s", kernel, path, line, seconds
    )
