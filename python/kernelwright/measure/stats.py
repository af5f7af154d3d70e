"""What a kernel has done in this process, as counted by its calls."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _core
from .._core import Kernel


@dataclass(frozen=True)
class KernelStats:
    """Counts and seconds of one kernel object since it was made.

    `calls` includes those that raised, `versions` those that were dropped. `compiles` and `cache_hits` are
    bodies that were compiled and that the disk cache had; each version has one or more.
    """

    calls: int
    versions: int
    compiles: int
    cache_hits: int
    compile_seconds: float
    load_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.calls} calls, {self.versions} versions, {self.compiles} bodies compiled in "
            f"{self.compile_seconds * 1e3:.1f} ms, {self.cache_hits} loaded from the disk cache in "
            f"{self.load_seconds * 1e3:.1f} ms"
        )


def stats(kernel: Kernel) -> KernelStats:
    """Returns the counts of a kernel."""
    return KernelStats(*_core.stats_of(kernel))
