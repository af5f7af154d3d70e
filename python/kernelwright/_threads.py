"""The number of threads that kernels use: `kw.threads()`, `kw.set_threads(n)`."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import SupportsIndex

from . import _core


def threads() -> int:
    """Returns the number of threads that a kernel may use, the calling thread included.

    The initial number is KW_THREADS. Without it, it is the number of processors that this process may run on,
    limited by the quota of its control group. Results never depend on it.
    """
    return _core.threads()


def set_threads(n: SupportsIndex) -> None:
    """Sets the number of threads that later calls of kernels may use to `n`, in all threads of the process.

    Raises TypeError when `n` is no integer and ValueError when it is not from 1 to 1024.
    """
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"the number of threads is an int, not {type(n).__name__}")
    count = operator.index(n)
    if not 1 <= count <= _core.max_threads:
        raise ValueError(f"the number of threads is from 1 to {_core.max_threads}, not {count}")
    _core.set_threads(count)


@contextlib.contextmanager
def threads_set_to(n: int) -> Iterator[None]:
    """Sets the number of threads inside a `with`; measurements use it."""
    before = _core.threads()
    _core.set_threads(n)
    try:
        yield
    finally:
        _core.set_threads(before)
