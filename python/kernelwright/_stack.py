"""Stacks for CPython's own parser and compiler, in whatever thread a kernel is made or first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from . import _core
from ._locks import ForkLock

_Result = TypeVar("_Result")
_one_at_a_time = ForkLock()
_parser_stack = 1 << 20  # bytes; CPython's parser checks its depth by counting, for stacks of the usual size


def with_stack(work: Callable[[], _Result], always: bool = False) -> _Result:
    """What `work` returns: in a thread with a stack of its own where the caller's has little left, or always.

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
                threading.stack_size(max(before, 8 << 20))  # of threads that begin now, whoever begins them
                try:
                    future = apart.submit(work)
                finally:
                    threading.stack_size(before)
        except RuntimeError:
            raise MemoryError("there is no thread with a stack for reading the kernel's text") from None
        return future.result()
