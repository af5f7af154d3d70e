"""What a kernel of the gallery is measured with. Knows no engine.

The C function of a kernel takes, in this order, the arguments (arrays as restrict pointers), the results and
the extents that the case names, as `long`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]


# what is measured besides: results written into given memory, arguments that begin at a line of the caches,
# and C that may reorder sums (-ffast-math, with which gcc calls libmvec)
WITH_OUT = {"copy", "add", "chain", "broadcast_row", "broadcast_column", "stencil_1d", "stencil_2d"}
WITH_ALIGNED = WITH_OUT | {"sum_all", "sum_rows", "sum_columns", "transpose", "cumsum_rows"}
WITH_FAST_C = {"exponential", "n_body"}


@dataclass(frozen=True)
class Case:
    """One kernel: its inputs at each size, what it must give, and how the peers run the same loops."""

    kernel: Any
    sizes: dict[str, tuple[int, ...]]  # by "small", "cache", "DRAM", "compute"
    make: Callable[..., Arguments]  # (random generator, *size) → arguments
    reference: Callable[..., Any]  # (*arguments) → result or results, by NumPy
    extents: Callable[..., tuple[int, ...]]  # (*arguments) → what the C function is told
    parallel: str = "i"  # the outermost loops of this name may run in any order: Numba's prange
    numpy: bool = True  # the reference is what a user of NumPy would write
    limit: str = "copy"  # "copy" or "read" where bytes moved are the machine's limit, else ""
    indexed: bool = False  # subscripts come from data: measured with unchecked=True besides
    tolerance: float = 2e-5  # of absolute and relative difference together
    odd: float = 0.0  # the share of elements that may differ by more
    real: type = np.float32  # what Python floats are in C and in Numba

    @property
    def name(self) -> str:
        return str(self.kernel.__name__)

    @property
    def family(self) -> str:
        return str(self.kernel.__wrapped__.__module__)

    def arguments(self, size: str) -> Arguments:
        return self.make(np.random.default_rng(7), *self.sizes[size])


def results_of(value: Any) -> tuple[Array, ...]:
    return value if isinstance(value, tuple) else (np.asarray(value),)


def difference(case: Case, found: Any, wanted: tuple[Array, ...]) -> str:
    """What is wrong with a result, or ""."""
    results = results_of(found)
    if len(results) != len(wanted):
        return f"{len(results)} results instead of {len(wanted)}"
    for got, want in zip(results, wanted, strict=True):
        if got.shape != want.shape:
            return f"shape {got.shape} instead of {want.shape}"
        a, b = got.astype(np.float64), want.astype(np.float64)
        wrong = ~(np.abs(a - b) <= case.tolerance * (1 + np.abs(b)))
        if wrong.sum() > case.odd * wrong.size:
            at = tuple(int(k[0]) for k in np.nonzero(wrong))
            return f"{a[at]:.9g} instead of {b[at]:.9g} at {at}, and {int(wrong.sum()) - 1} more"
    return ""


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.random(shape, dtype=np.float32)
