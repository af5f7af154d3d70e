"""How many threads kernels use: `kw.threads()`, `kw.set_threads(n)`, and KW_THREADS at import."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from . import _core


def threads() -> int:
    """The number of threads that a kernel may use, the calling one among them.

    It begins as KW_THREADS, else as the processors that this process may run on, cut to the time that its
    control group allows. Results never depend on it.
    """
    return _core.threads()


def set_threads(n: SupportsIndex) -> None:
    """Lets the kernels that are called from now on use up to `n` threads, in all threads of the process.

    Raises TypeError when `n` is no integer and ValueError when it is not from 1 to 1024.
    """
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"the number of threads is an int, not {type(n).__name__}")
    count = operator.index(n)
    if not 1 <= count <= _core.max_threads:
        raise ValueError(f"the number of threads is from 1 to {_core.max_threads}, not {count}")
    _core.set_threads(count)


if _problem := _core.threads_problem():
    raise ValueError(_problem)
threads()  # looks at the system now, so that no call has to
