"""Kernels of the gallery as users of Numba write them for GPUs: a thread for each element, or for each row.

Needs Numba; peers.py measures them. NUMBA_ENABLE_CUDASIM=1 runs them without a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case
from numba import cuda


def add(a, b, c):  # type: ignore[no-untyped-def]
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = a[i, j] + b[i, j]


def transpose(a, c):  # type: ignore[no-untyped-def]
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = a[j, i]


def stencil_2d(a, c):  # type: ignore[no-untyped-def]
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        around = a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2]
        c[i, j] = np.float32(0.2) * (a[i + 1, j + 1] + around)


def sum_rows(a, c):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < c.shape[0]:
        total = np.float32(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        c[i] = total


def gather(x, at, c):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < c.shape[0]:
        c[i] = x[at[i]]


LOOPS = {f.__name__: f for f in (add, transpose, stencil_2d, sum_rows, gather)}
SHAPES: dict[str, Callable[..., tuple[int, ...]]] = {
    "add": lambda a, b: a.shape,
    "transpose": lambda a: a.shape[::-1],
    "stencil_2d": lambda a: (a.shape[0] - 2, a.shape[1] - 2),
    "sum_rows": lambda a: a.shape[:1],
    "gather": lambda x, at: at.shape,
}


def launcher(case: Case) -> Callable[..., Any] | None:
    """A function that launches the kernel of a case; the result for a shape is always the same array."""
    if case.name not in LOOPS:
        return None
    kernel, shape_of = cuda.jit(LOOPS[case.name]), SHAPES[case.name]

    results: dict[tuple[int, ...], Any] = {}

    def call(*arguments: Any) -> Any:
        shape = shape_of(*arguments)
        # made once: Numba has no pool, and its memory costs more than the kernels
        if (result := results.get(shape)) is None:
            result = results[shape] = cuda.device_array(shape, arguments[0].dtype)
        threads = (256,) if len(shape) == 1 else (32, 8)
        blocks = tuple(math.ceil(n / t) for n, t in zip(shape[::-1], threads, strict=True))
        kernel[blocks, threads](*arguments, result)
        return result

    return call
