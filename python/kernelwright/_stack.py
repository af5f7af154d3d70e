"""Provides enough stack for CPython's own parser and compiler, in any thread that makes or first calls a
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from . import _core
from ._locks import ForkLock

_Result = TypeVar("_Result")
_one_at_a_time = ForkLock()
_parser_stack = 1 << 20  # bytes; CPython's parser limits its depth by a count, for stacks of the usual size


def with_stack(work: Callable[[], _Result], always: bool = False) -> _Result:
    """Returns the result of `work`. Runs it in a thread with a stack of its own if the caller's has little
    left, or if `always`.

    Raises MemoryError when there is no thread for that.
    """
    if not always and _core.stack_left() >= _parser_stack:
        return work()
    import threading
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as apart:
        try:
            with _one_at_a_time:
                before = threading.stack_size()
                threading.stack_size(max(before, 8 << 20))  # for all threads that start now
                try:
                    future = apart.submit(work)
                finally:
                    threading.stack_size(before)
        except RuntimeError:
            raise MemoryError("there is no thread with a stack for reading the kernel's text") from None
        return future.result()
