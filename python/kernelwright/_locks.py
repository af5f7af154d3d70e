"""Locks that are free in a child of `os.fork`, even if a thread that the child does not have held them."""

from __future__ import annotations

import os
from _thread import RLock, get_ident  # threading is imported late


class ForkLock:
    """A reentrant lock, used by `with`.

    A thread that forks while it holds the lock still holds it in the child.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._owner = 0
        self._depth = 0
        os.register_at_fork(after_in_child=self._free_from_other_threads)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = get_ident()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._lock.release()

    def _free_from_other_threads(self) -> None:
        if self._owner != get_ident():
            self._lock = RLock()
            self._owner = self._depth = 0
